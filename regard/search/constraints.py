"""What an output must hold: tokens of terms, and how much of them a hypothesis has so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS_ID, FIRST_BYTE_ID
from regard.text.units import is_unspaced, is_word_character

CONTEXTS = ("(", "-", "。", "，", "的", "'", "a", "\n")
"""What a term is tokenized after in order to see how it is written without a space in front."""

MOST_ENDINGS, LONGEST_ENDING = 100, 3


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
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hypothesis is: which constraints it lacks, and the tokens that may become one of them."""

    unmet: tuple[int, ...]
    begun: tuple[int, ...] = ()
    """The end of the hypothesis, as far as a constraint that it lacks begins so."""
    before: int = BOS_ID
    """The token in front of `begun`."""
    closed: bool = False
    """Whether the next token must not go on with the word."""
    ending: bool = False
    """Whether the next token may go on with the word only as its ending."""
    needed: int = 0
    """How many tokens will do to meet all that is unmet, going on with what has been begun."""

    @property
    def last(self) -> int:
        return self.begun[-1] if self.begun else self.before


class ConstraintSet:
    """The constraints of one sentence, each to be met by a part of the output of its own."""

    def __init__(self, constraints: Sequence[Constraint], edges: TokenEdges) -> None:
        self.constraints, self._edges = tuple(constraints), edges
        self._longest = [constraint.longest for constraint in self.constraints]
        self.tokens = sum(self._longest)
        self.start = Progress(tuple(range(len(self.constraints))), needed=self.tokens)
        self._by_first: dict[int, list[tuple[int, Spelling]]] = {}
        for index, constraint in enumerate(self.constraints):
            for spelling in constraint.spellings:
                self._by_first.setdefault(spelling.tokens[0], []).append((index, spelling))
        self.reserved = tuple(
            {token for each in constraints if each.reserved for spelling in each.spellings for token in spelling.tokens}
        )

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token; what had been begun is given up where the token does not go on with it."""
        if progress.ending and self._edges.is_ending[token]:
            return replace(progress, before=token, closed=True, ending=False)
        begun, before = (*progress.begun, token), progress.before
        unmet, needed = progress.unmet, sum(self._longest[index] for index in progress.unmet)
        while begun:
            saved = 0
            for index, spelling in self._matching(unmet, begun, before):
                left = len(spelling.tokens) - len(begun)
                if not left:
                    rest = tuple(other for other in unmet if other != index)
                    closed = self.constraints[index].closed and not spelling.ending
                    return Progress(rest, (), token, closed, spelling.ending, needed - self._longest[index])
                saved = max(saved, self._longest[index] - left)
            if saved:
                return Progress(unmet, begun, before, needed=needed - saved)
            before, begun = begun[0], begun[1:]
        return Progress(unmet, (), token, needed=needed)

    def advancing(self, progress: Progress) -> set[int]:
        """The tokens that go on with what has been begun, or begin a constraint that is unmet."""
        unmet = set(progress.unmet)
        tokens = {
            token
            for token, spellings in self._by_first.items()
            if any(index in unmet and self._may_follow(spelling, progress.last) for index, spelling in spellings)
        }
        if progress.begun:
            place = len(progress.begun)
            matching = self._matching(progress.unmet, progress.begun, progress.before)
            tokens |= {spelling.tokens[place] for _, spelling in matching}
        if progress.closed or progress.ending:
            tokens = {token for token in tokens if not self._edges.begins_in_word[token]}
        return tokens

    def _matching(self, unmet: tuple[int, ...], begun: tuple[int, ...], before: int) -> Iterator[tuple[int, Spelling]]:
        """The spellings of unmet constraints that begin so and may stand after `before`."""
        length = len(begun)
        for index, spelling in self._by_first.get(begun[0], ()):
            if index in unmet and spelling.tokens[:length] == begun and self._may_follow(spelling, before):
                yield index, spelling

    def _may_follow(self, spelling: Spelling, before: int) -> bool:
        if spelling.place is Place.ANYWHERE:
            return True
        return before == BOS_ID if spelling.place is Place.START else not self._edges.ends_in_word[before]


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
