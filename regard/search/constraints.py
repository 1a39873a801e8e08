"""What an output must hold: constraints, and how much of them a hypothesis has so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.data.vocabulary import BOS_ID, PAD_ID
from regard.search.spellings import Constraint, Place, Spelling, TokenEdges

MOST_KNOWN = 1000
"""So many states of hypotheses are remembered."""


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
    meeting: int = 0
    """How many of the last tokens have just met a constraint."""
    unjoined: bool = False
    """Whether the next token must not begin with a hyphen."""

    @property
    def last(self) -> int:
        return self.begun[-1] if self.begun else self.before


@dataclass(frozen=True)
class Choices:
    """What the next token does for a hypothesis: one place for each token of the set's alphabet."""

    needed: NDArray[np.int64]
    """How many tokens are needed after it."""
    advances: NDArray[np.bool_]
    """Whether it goes on with what has been begun, or begins a constraint that is unmet."""
    otherwise: int
    """How many are needed after a token that is not of the alphabet."""


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
        spelled = {token for each in constraints for spelling in each.spellings for token in spelling.tokens}
        self.alphabet = np.array(sorted({PAD_ID, *spelled}))
        """All tokens of the constraints; and a mark that is never written, so that there is one."""
        self._places = {token: place for place, token in enumerate(self.alphabet.tolist())}
        self._in_word = np.array([edges.begins_in_word[token] for token in self.alphabet.tolist()])
        self._joins = np.array([bool(edges.joins) and edges.joins[token] for token in self.alphabet.tolist()])
        self._of_first, self._saved = np.full(len(self.alphabet), -1), np.zeros(len(self.alphabet), dtype=np.int64)
        self._ambiguous = []
        """Tokens that begin several spellings, or one that may not stand anywhere; `_of_first` has the others."""
        for token, spellings in self._by_first.items():
            index, spelling = spellings[0]
            if len(spellings) > 1 or spelling.place is not Place.ANYWHERE:
                self._ambiguous.append(token)
            else:
                self._of_first[self._places[token]] = index
                self._saved[self._places[token]] = self._longest[index] - (len(spelling.tokens) - 1)
        self._known: dict[tuple[object, ...], Choices] = {}

    def choices(self, progress: Progress) -> Choices:
        """What each token of the alphabet would do next; found once for all hypotheses that are equally far."""
        key: tuple[object, ...] = progress.unmet, progress.begun, progress.closed or progress.ending, progress.unjoined
        if self._ambiguous:  # then it matters what stands before a spelling
            inside = self._edges.ends_in_word
            key += tuple((token == BOS_ID, inside[token]) for token in (progress.before, progress.last))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = self._choices(progress)
        return known

    def _choices(self, progress: Progress) -> Choices:
        unmet = np.zeros(len(self.constraints) + 1, dtype=bool)
        unmet[list(progress.unmet)] = True
        otherwise = self._needed(progress)
        advances = unmet[self._of_first]  # -1 is the last one, which is nobody's
        needed = otherwise - np.where(advances, self._saved, 0)
        first = {token for token in self._ambiguous if self._may_begin(progress, token)}
        following = self._following(progress.unmet, progress.begun, progress.before)
        for token in first | following:
            advances[self._places[token]] = True
            needed[self._places[token]] = self.advance(progress, token).needed
        begun, before = progress.begun, progress.before
        while len(begun) > 1:  # the end of what has been begun may begin another constraint
            before, begun = begun[0], begun[1:]
            for token in self._following(progress.unmet, begun, before) - following:
                needed[self._places[token]] = self.advance(progress, token).needed
        barred = self._in_word & (progress.closed or progress.ending) | self._joins & progress.unjoined
        advances &= ~barred
        needed[barred] = otherwise
        return Choices(needed, advances, otherwise)

    def _may_begin(self, progress: Progress, token: int) -> bool:
        return any(
            index in progress.unmet and self._may_follow(spelling, progress.last)
            for index, spelling in self._by_first[token]
        )

    def _following(self, unmet: tuple[int, ...], begun: tuple[int, ...], before: int) -> set[int]:
        """The tokens that go on with what has been begun."""
        place = len(begun)
        matching = self._matching(unmet, begun, before) if begun else ()
        return {spelling.tokens[place] for _, spelling in matching if len(spelling.tokens) > place}

    def met_by(self, tokens: Sequence[int]) -> bool:
        """Whether an output meets every constraint, and uses what is reserved once."""
        edges, progress = self._edges, self.start
        for token in tokens:
            may_go_on = not progress.closed and (not progress.ending or edges.is_ending[token])
            if edges.begins_in_word[token] and not may_go_on:
                return False
            if progress.unjoined and edges.joins and edges.joins[token]:
                return False
            progress = self.advance(progress, token)
        return not progress.unmet and all(tokens.count(token) == 1 for token in self.reserved)

    def _needed(self, progress: Progress) -> int:
        """How many tokens will do to meet all that is unmet, without what has been begun."""
        return sum(self._longest[index] for index in progress.unmet) if progress.begun else progress.needed

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token; what had been begun is given up where the token does not go on with it."""
        if progress.ending and self._edges.is_ending[token]:
            return replace(progress, before=token, closed=True, ending=False, meeting=0, unjoined=False)
        begun, before = (*progress.begun, token), progress.before
        unmet, needed = progress.unmet, self._needed(progress)
        while begun:
            saved = 0
            for index, spelling in self._matching(unmet, begun, before):
                left = len(spelling.tokens) - len(begun)
                if not left:
                    rest = tuple(other for other in unmet if other != index)
                    closed = self.constraints[index].closed and not spelling.ending
                    left_over = needed - self._longest[index]
                    unjoined = self.constraints[index].unjoined
                    return Progress(rest, (), token, closed, spelling.ending, left_over, len(begun), unjoined)
                saved = max(saved, self._longest[index] - left)
            if saved:
                return Progress(unmet, begun, before, needed=needed - saved)
            before, begun = begun[0], begun[1:]
        return Progress(unmet, (), token, needed=needed)

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
