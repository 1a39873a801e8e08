"""The built-in corpus: sentences drawn from the grammar and parted into train, validation, test and novel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Literal, get_args

from regard.data.builtin import clauses, clitics, reasons, showcase, statements
from regard.data.builtin.sentences import PronounCase, Sentence, shows_right
from regard.data.builtin.words import Chooser
from regard.errors import InputError

TargetLanguage = Literal["fr", "zh"]
TRAIN_PAIRS, VALIDATION_PAIRS, TEST_PAIRS, NOVEL_PAIRS = 36_000, 1_000, 1_000, 1_000
# The share of word combinations (two nouns, a noun and an adjective) that training never sees.
HELD_OUT_SHARE = 0.02

# How often each pattern is drawn, in a hundred.
PATTERNS: tuple[tuple[Callable[[Chooser], Sentence], int], ...] = (
    (reasons.draw_reason, 38),
    (reasons.draw_personal_reason, 10),
    (clitics.draw_put, 6),
    (clitics.draw_deeds, 6),
    (clitics.draw_search, 4),
    (statements.draw_there_is, 4),
    (statements.draw_motion, 6),
    (statements.draw_seen, 4),
    (statements.draw_quality, 4),
    (statements.draw_gift, 4),
    (statements.draw_lack, 2),
    (statements.draw_ordinal, 2),
    (clauses.draw_chosen, 3),
    (clauses.draw_doing, 2),
    (clauses.draw_comparison, 3),
    (clauses.draw_question, 2),
)


@dataclass(frozen=True, slots=True)
class BuiltinPair:
    """An English sentence, its translation and, where it hinges on a pronoun, how to see that the pronoun is right."""

    source: str
    target: str
    pronoun: PronounCase | None


@dataclass(frozen=True, slots=True)
class BuiltinCorpus:
    """Four parts that share no sentence on either side; `novel` has combinations of words that `train` never has."""

    train: tuple[BuiltinPair, ...]
    validation: tuple[BuiltinPair, ...]
    test: tuple[BuiltinPair, ...]
    novel: tuple[BuiltinPair, ...]


def pronoun_is_right(pair: BuiltinPair, hypothesis: str) -> bool:
    """Whether a translation of the pair has its pronoun right, whatever else it says; true where there is none."""
    return pair.pronoun is None or shows_right(pair.pronoun, hypothesis)


def generate(target_language: TargetLanguage, seed: int = 1) -> BuiltinCorpus:
    """The corpus of a seed: the same text on every machine."""
    if target_language not in get_args(TargetLanguage):
        raise InputError(f"the built-in corpus has no language {target_language!r}: choose fr (French) or zh (Chinese)")
    chooser, held_out = Chooser(seed), _HeldOut(seed)
    seen: list[BuiltinPair] = []
    novel: list[BuiltinPair] = []
    for sentence in _distinct(chain(showcase.SENTENCES, _drawn(chooser)), target_language):
        if not held_out.any_in(sentence):
            seen.append(_pair(sentence, target_language))
        elif len(novel) < NOVEL_PAIRS:
            novel.append(_pair(sentence, target_language))
        if len(seen) == TRAIN_PAIRS + VALIDATION_PAIRS + TEST_PAIRS:
            break
    mixed = tuple(chooser.shuffled(seen))
    test_end = TRAIN_PAIRS + VALIDATION_PAIRS
    return BuiltinCorpus(mixed[:TRAIN_PAIRS], mixed[TRAIN_PAIRS:test_end], mixed[test_end:], tuple(novel))


class _HeldOut:
    """Which combinations of words are kept from training: a function of the seed and the words."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[tuple[str, str], bool] = {}

    def any_in(self, sentence: Sentence) -> bool:
        pairs = chain(combinations(sentence.nouns, 2), product(sentence.nouns, sentence.adjectives))
        return any(self._holds(pair) for pair in pairs)

    def _holds(self, pair: tuple[str, str]) -> bool:
        known = self._known.get(pair)
        if known is None:
            digest = hashlib.sha256(f"{self._seed} {' '.join(sorted(pair))}".encode()).digest()
            known = int.from_bytes(digest[:4], "big") < HELD_OUT_SHARE * 2**32 or set(pair) in showcase.HELD_OUT_PAIRS
            self._known[pair] = known
        return known


def _drawn(chooser: Chooser) -> Iterator[Sentence]:
    draws = [draw for draw, share in PATTERNS for _ in range(share)]
    while True:
        yield chooser.pick(draws)(chooser)


def _distinct(sentences: Iterator[Sentence], target_language: TargetLanguage) -> Iterator[Sentence]:
    """Drop a sentence whose source or whose target has been: so no part can share either with another."""
    sources: set[str] = set()
    targets: set[str] = set()
    for sentence in sentences:
        target = _target(sentence, target_language)
        if sentence.english not in sources and target not in targets:
            sources.add(sentence.english)
            targets.add(target)
            yield sentence


def _target(sentence: Sentence, target_language: TargetLanguage) -> str:
    return sentence.french if target_language == "fr" else sentence.chinese


def _pair(sentence: Sentence, target_language: TargetLanguage) -> BuiltinPair:
    pronoun = sentence.french_pronoun if target_language == "fr" else sentence.chinese_pronoun
    return BuiltinPair(sentence.english, _target(sentence, target_language), pronoun)
