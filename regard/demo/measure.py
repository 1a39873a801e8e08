"""How well the built-in corpus was learned: BLEU, exact match, and how often the pronoun is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.data.builtin import SHOWCASE, BuiltinPair, TargetLanguage, pronoun_is_right, translate_showcase
from regard.evaluate.metrics import bleu, exact_match
from regard.explain.capture import attention_of
from regard.explain.reference import Trail, follow
from regard.models.folder import LoadedModel
from regard.progress import task
from regard.search.translator import Translator

CLAUSES = (" because it ", " even though it ")
"""What introduces the reasons of the built-in grammar, in which `it` may stand for either of two nouns."""


@dataclass(frozen=True)
class SetScore:
    """How well one set of sentences is translated, from 0 to 100."""

    sentences: int
    bleu: float
    signature: str
    exact_match: float
    pronoun_accuracy: float
    pronoun_sentences: int


@dataclass(frozen=True)
class Shown:
    """A sentence to show, its translation, and what it should have been."""

    source: str
    translation: str
    reference: str
    right: bool


@dataclass(frozen=True)
class Trial:
    """In how many test sentences a trail, followed step by step, leads from the pronoun to the right noun."""

    found: int
    tried: int


def measure(translator: Translator, name: Literal["test", "novel"], pairs: Sequence[BuiltinPair]) -> SetScore:
    """Translate a set and compare it with its references."""
    references = [pair.target for pair in pairs]
    with task(f"translating the {name} set", len(pairs)) as work:
        hypotheses = translator.translate([pair.source for pair in pairs], progress=work)
    score = bleu(hypotheses, references, translator.languages[1])
    asked = [(pair, text) for pair, text in zip(pairs, hypotheses, strict=True) if pair.pronoun is not None]
    right = sum(pronoun_is_right(pair, text) for pair, text in asked)
    return SetScore(
        sentences=len(pairs),
        bleu=score.value,
        signature=score.signature,
        exact_match=exact_match(hypotheses, references),
        pronoun_accuracy=100.0 * right / max(1, len(asked)),
        pronoun_sentences=len(asked),
    )


def show(translator: Translator, target_language: TargetLanguage) -> tuple[Shown, ...]:
    """The sentences of the showcase, translated."""
    translations = translator.translate(SHOWCASE)
    references = translate_showcase(target_language)
    return tuple(
        Shown(source, translation, reference, translation == reference)
        for source, translation, reference in zip(SHOWCASE, translations, references, strict=True)
    )


def try_trail(loaded: LoadedModel, trail: Trail, pairs: Sequence[BuiltinPair], limit: int) -> Trial:
    """Follow a trail in sentences that it was not chosen by: the first `limit` whose `it` has two nouns before it."""
    cases = [
        (pair, pair.pronoun)
        for pair in pairs
        if pair.pronoun is not None and any(clause in pair.source for clause in CLAUSES)
    ][:limit]
    found = 0
    for pair, pronoun in cases:
        maps = attention_of(loaded, pair.source, pair.target).words()
        found += follow(maps, trail, pronoun.right) == pronoun.antecedent
    return Trial(found, len(cases))
