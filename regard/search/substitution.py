"""Terms put in place of the words that a model chose instead: one more hypothesis for a constrained search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Unpack

from regard.config import SearchConfig
from regard.search.alignment import Aligner, Alignment, NoAttentionError
from regard.search.control_report import ControlledTranslation
from regard.search.hypotheses import Hypothesis
from regard.search.length_penalty import length_penalty, score_with_forced
from regard.search.scoring import Score
from regard.text.glossary import TermMatch
from regard.text.masking import Edit, apply_edits

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.search.translator import Translation, Translator

MOST_WORDS = 4
"""Of the translation, side by side, that a term may take the place of."""


def substitutions(
    translator: Translator,
    sources: Sequence[str],
    plain: Sequence[Translation],
    lacking: Sequence[Sequence[TermMatch]],
    **options: Unpack[SearchOptions],
) -> list[Translation | None]:
    """The plain translation of each source with the terms that it lacks where the alignment suggests, scored.

    None where the alignment says nothing of a term, where the model cannot read so much, or shows no attention.
    """
    aligner = Aligner(translator, by_units=True)
    try:
        alignments = aligner.align(sources, [each.text for each in plain])
    except NoAttentionError:
        return [None] * len(sources)
    texts: dict[int, str] = {}
    for index, alignment in enumerate(alignments):
        text = _substituted(aligner, sources[index], plain[index].text, alignment, lacking[index])
        if text is None:
            continue
        lengths = [len(translator.tokenizers.source.encode(sources[index]))]
        lengths += [len(translator.tokenizers.target.encode(each)) for each in (text, plain[index].text)]
        if max(lengths) < translator.longest_source // 2:
            texts[index] = text
    scores = translator.score([sources[index] for index in texts], list(texts.values()))
    search = translator._search_config(options)
    found: list[Translation | None] = [None] * len(sources)
    for (index, text), score in zip(texts.items(), scores, strict=True):
        tokens = translator.tokenizers.target.encode(text)
        value = score.log_probability / length_penalty(score.tokens, search)
        found[index] = translator._translation(Hypothesis(tokens, value, score.log_probability, True, score.per_token))
    return found


class Standing(NamedTuple):
    """How well a translation does that uses terms."""

    score: float
    """What a constrained search ranks it by."""
    rest: float
    """The mean log-probability of the tokens that belong to no term."""


def standings(
    translator: Translator, translations: Sequence[tuple[str, ControlledTranslation]], search: SearchConfig
) -> list[Standing]:
    """How well translations do, given with their sources."""
    sources = [source for source, _ in translations]
    scores = translator.score(sources, [translation.text for _, translation in translations])
    lengths = [len(tokens) + 1 for tokens in translator.tokenizers.source.encode_batch(sources)]
    found = []
    for (_, translation), score, length in zip(translations, scores, lengths, strict=True):
        free = _outside_terms(translator, translation, score)
        rest = math.fsum(free)
        forced = score.log_probability - rest
        value = score_with_forced(score.log_probability, forced, score.tokens, length, search)
        found.append(Standing(value, rest / len(free)))
    return found


def _outside_terms(translator: Translator, translation: ControlledTranslation, score: Score) -> list[float]:
    """The log-probabilities of the tokens that belong to no term, and of the end mark."""
    target = translator.tokenizers.target
    terms = [
        (use.target_start, use.target_start + len(use.target))
        for use in translation.terms
        if use.target_start is not None
    ]
    ends = target.ends(target.encode(translation.text))
    ranges = [*pairwise(ends), (ends[-1], ends[-1])]
    return [
        value
        for (start, stop), value in zip(ranges, score.per_token, strict=True)
        if not any(start < last and first < stop for first, last in terms)
    ]


def _substituted(
    aligner: Aligner, source: str, text: str, alignment: Alignment, lacking: Sequence[TermMatch]
) -> str | None:
    """The text with each term in place of the words that belong to its source words; None where there are none."""
    source_words, target_words = aligner.words(source, 0), aligner.words(text, 1)
    edits: list[Edit] = []
    for match in lacking:
        origins = {
            index for index, (start, stop) in enumerate(source_words) if start < match.stop and match.start < stop
        }
        linked = sorted(target for origin, target in alignment.links if origin in origins)
        if not linked or linked[-1] - linked[0] >= MOST_WORDS:
            return None
        start, stop = target_words[linked[0]][0], target_words[linked[-1]][1]
        if any(edit.start < stop and start < edit.stop for edit in edits):
            return None
        edits.append(Edit(start, stop, match.term.target))
    return apply_edits(text, edits)[0]
