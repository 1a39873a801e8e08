"""Subwords merged into whole words, so that attention can be read as one reads a sentence."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.vocabulary import BYTE_TOKENS, SPECIAL_TOKENS

Weights = NDArray[np.float32]

SPACE = "▁"
APOSTROPHES = "'’"
ENGLISH_ENDINGS = ("t", "s", "re", "ve", "ll", "d", "m")
"""What follows the apostrophe of `didn't` or `it's`: the same word. After `qu'` or `l'` a new word begins."""


@dataclass(frozen=True)
class Word:
    """A whole word: its text, and the tokens `start` to `stop` (not included) that spell it."""

    text: str
    start: int
    stop: int


def group_words(pieces: Sequence[str]) -> list[Word]:
    """The words that tokens spell: they begin at spaces, punctuation, an elision, and at each Chinese character.

    Every token belongs to exactly one word; a token that spans two words keeps them together.
    """
    texts = _spelling(pieces)
    line = "".join(texts)
    words: list[Word] = []
    first, start, offset = 0, 0, 0
    for index, (piece, text) in enumerate(zip(pieces, texts, strict=True)):
        alone = piece in SPECIAL_TOKENS or (index > 0 and pieces[index - 1] in SPECIAL_TOKENS)
        if index and text and (alone or _begins_word(line, offset)):
            words.append(Word(line[start:offset].strip() or SPACE, first, index))
            first, start = index, offset
        offset += len(text)
    if pieces:
        words.append(Word(line[start:].strip() or SPACE, first, len(pieces)))
    return words


def _spelling(pieces: Sequence[str]) -> list[str]:
    """The text of each token; a character spelled in bytes counts as that of its first byte, the others are empty."""
    texts = [piece.replace(SPACE, " ") for piece in pieces]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = 0
    for index, piece in enumerate(pieces):
        if piece not in BYTE_TOKENS:
            continue
        if index == 0 or pieces[index - 1] not in BYTE_TOKENS:
            decoder.reset()
            begun = index
        last = index + 1 == len(pieces) or pieces[index + 1] not in BYTE_TOKENS
        decoded = decoder.decode(bytes([BYTE_TOKENS.index(piece)]), final=last)
        texts[index] = ""
        if decoded:
            texts[begun] = decoded
            begun = index + 1
    return texts


def _begins_word(line: str, offset: int) -> bool:
    """Whether a word begins at `offset`, seen from the characters on both sides."""
    if offset >= len(line) or line[offset].isspace():
        return offset < len(line)
    before, here = line[offset - 1], line[offset]
    if before.isspace():
        # The space of its own token belongs to the word that follows it.
        return False
    if _stands_alone(before) or _stands_alone(here):
        return True
    if before in APOSTROPHES:
        return _letters_from(line, offset).lower() not in ENGLISH_ENDINGS
    return _is_mark(before) != _is_mark(here) and not _joins(line, offset)


def _joins(line: str, offset: int) -> bool:
    """Apostrophes and hyphens inside a word hold it together."""
    return any(character in APOSTROPHES + "-" for character in line[offset - 1 : offset + 1])


def _letters_from(line: str, offset: int) -> str:
    end = offset
    while end < len(line) and line[end].isalpha():
        end += 1
    return line[offset:end]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _stands_alone(character: str) -> bool:
    """Whether it belongs to a script that writes no spaces: Han, or Japanese kana."""
    return "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff" or character >= "\U00020000"


def merge_queries(weights: Weights, words: Sequence[Word]) -> Weights:
    """Rows of a word become their mean: [..., Q, K] to [..., words, K]; each row still sums to one."""
    return np.stack([weights[..., word.start : word.stop, :].mean(axis=-2) for word in words], axis=-2)


def merge_keys(weights: Weights, words: Sequence[Word]) -> Weights:
    """Columns of a word are added up: [..., Q, K] to [..., Q, words]; attention to a word is that to its parts."""
    return np.stack([weights[..., word.start : word.stop].sum(axis=-1) for word in words], axis=-1)
