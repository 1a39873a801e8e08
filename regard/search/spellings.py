"""How a term may be spelled in an output: its tokens, and the places where they may stand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import FIRST_BYTE_ID
from regard.text.units import JOINING_MARKS, LONGEST_ENDING, is_unspaced, is_word_character

CONTEXTS = ("(", "-", "。", "，", "的", "'", "a", "\n")
"""What a term is tokenized after in order to see how it is written without a space in front."""

MOST_ENDINGS = 100


class Place(Enum):
    """Where a spelling may begin."""

    ANYWHERE = "anywhere"
    START = "start"
    """At the start of the output."""
    AFTER_MARK = "after-mark"
    """Where no letter precedes it."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The tokens of a term as it stands in some places."""

    tokens: tuple[int, ...]
    place: Place = Place.ANYWHERE
    ending: bool = False
    """A token of a few letters may follow and be its ending."""


@dataclass(frozen=True)
class Constraint:
    """A term that an output must hold, in one of its spellings; the first may stand anywhere."""

    spellings: tuple[Spelling, ...]
    closed: bool = False
    """No letter may follow, which would make another word of it."""
    reserved: bool = False
    """Its tokens are used for nothing else, so that it comes exactly once."""
    unjoined: bool = False
    """No hyphen may follow, either."""

    @property
    def longest(self) -> int:
        return max(len(spelling.tokens) for spelling in self.spellings)


@dataclass(frozen=True)
class TokenEdges:
    """Which tokens of a vocabulary begin or end inside a word, each by its number."""

    begins_in_word: tuple[bool, ...]
    ends_in_word: tuple[bool, ...]
    is_ending: tuple[bool, ...] = ()
    """Which are a few letters that can end a word."""
    joins: tuple[bool, ...] = ()
    """Which begin with a hyphen."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TokenEdges:
        """A byte of a longer character counts as a letter: it may be one."""
        pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
        edges = [(piece[0], piece[-1]) for piece in pieces]
        for byte in range(256):
            character = chr(byte) if byte < 128 else "a"
            edges[FIRST_BYTE_ID + byte] = (character, character)
        for mark in range(FIRST_BYTE_ID):
            edges[mark] = (" ", " ")
        return cls(
            tuple(is_word_character(first) for first, _ in edges),
            tuple(is_word_character(last) for _, last in edges),
            tuple(piece.isalpha() and len(piece) <= LONGEST_ENDING for piece in pieces),
            tuple(first in JOINING_MARKS for first, _ in edges),
        )


def term_constraint(tokenizer: Tokenizer, text: str, inflected: bool = False) -> Constraint:
    """The constraint that an output holds `text`, tokenized as it would stand there."""
    text = tokenizer.normalize(text)
    spaced, inside = tuple(tokenizer.encode(text)), _encode_inside(tokenizer, text)
    if inflected:
        return Constraint((Spelling(spaced, ending=True), *_with_endings(tokenizer, spaced)), closed=True)
    closed = is_word_character(text[-1])
    if inside is None or inside == spaced:
        return Constraint((Spelling(spaced),), closed)
    if is_unspaced(text[0]):
        return Constraint((Spelling(inside), Spelling(spaced, Place.START)), closed)
    return Constraint((Spelling(spaced), Spelling(inside, Place.AFTER_MARK)), closed)


def _with_endings(tokenizer: Tokenizer, spaced: tuple[int, ...]) -> list[Spelling]:
    """Spellings whose last token has an ending too, where the vocabulary has such tokens."""
    pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
    spellings = []
    for cut in range(len(spaced)):
        rest = "".join(tokenizer.pieces(spaced[cut:]))
        longer = [token for token, piece in enumerate(pieces) if 0 < _ending(piece, rest) <= LONGEST_ENDING]
        spellings += [Spelling((*spaced[:cut], token)) for token in longer[:MOST_ENDINGS]]
    return spellings


def _ending(piece: str, rest: str) -> int:
    """How many letters a token has beyond the rest of a word; 0 where it is another word."""
    return len(piece) - len(rest) if piece.startswith(rest) and piece[len(rest) :].isalpha() else 0


def _encode_inside(tokenizer: Tokenizer, text: str) -> tuple[int, ...] | None:
    """The tokens of a text without a space in front, as after another character; None where they cannot be had."""
    for context in CONTEXTS:
        tokens = tokenizer.encode(context + text)
        for cut in range(1, len(tokens)):
            if tokenizer.decode(tokens[:cut]) == context:
                return tuple(tokens[cut:])
    return None
