"""Words of sentences and of their translations: where they stand, how likely they are, which belong together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from regard.search.alignment import Aligner, Alignment
from regard.search.translator import Translation, Translator

Range = tuple[int, int]


def word_ranges(text: str, words: Sequence[str]) -> list[Range]:
    """Where words that come one after the other stand in their text."""
    ranges: list[Range] = []
    place = 0
    for word in words:
        start = text.index(word, place)
        place = start + len(word)
        ranges.append((start, place))
    return ranges


def words_of(translator: Translator, text: str, side: int) -> list[Range]:
    """The words of a source (side 0) or of a translation (1), as alignments count them."""
    return Aligner(translator).words(text, side)


def word_probabilities(translator: Translator, translation: Translation, words: Sequence[Range]) -> list[float | None]:
    """The probability of each word: the product of its tokens'. None where the text is not what the tokens spell,
    for spans were put back into it.
    """
    tokenizer = translator.tokenizers.target
    if tokenizer.decode(translation.tokens).replace("\n", " ") != translation.text:
        return [None] * len(words)
    logs = [0.0] * len(words)
    ends = tokenizer.ends(translation.tokens)
    for (start, stop), log in zip(pairwise(ends), translation.token_log_probabilities, strict=False):
        for index, (first, last) in enumerate(words):
            if start < last and first < stop:
                logs[index] += log
    return [as_probability(log) for log in logs]


def as_probability(log: float) -> float:
    """A logarithm as the probability that is told."""
    return float(f"{math.exp(min(0.0, log)):.6g}")


def links_of(
    source: str, translation: str, alignment: Alignment, source_offset: int = 0, target_offset: int = 0
) -> list[tuple[Range, Range]]:
    """The links of an alignment as ranges of characters in the texts that the two are parts of, without marks."""
    source_words = [_core(source, each) for each in word_ranges(source, alignment.source)]
    target_words = [_core(translation, each) for each in word_ranges(translation, alignment.target)]
    return [
        (_moved(source_words[first], source_offset), _moved(target_words[second], target_offset))
        for first, second in alignment.links
    ]


def _core(text: str, word: Range) -> Range:
    """A word without the marks around it, if it has anything else."""
    start, stop = word
    inside = [place for place in range(start, stop) if text[place].isalnum()]
    return (inside[0], inside[-1] + 1) if inside else word


def _moved(found: Range, offset: int) -> Range:
    return found[0] + offset, found[1] + offset
