"""What a search finds: hypotheses, and the n-best list of a sentence that they are gathered in."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from regard.errors import ModelFolderError


class Hypothesis(NamedTuple):
    """An output: `tokens` without the marks of beginning and end."""

    tokens: list[int]
    score: float
    """The log-probability after the length penalty: what hypotheses of one sentence are ranked by."""
    log_probability: float
    """The sum over the tokens, the end mark included if there is one."""
    finished: bool
    """Whether the model ended it; otherwise the length limit did, or the guard against loops."""
    token_log_probabilities: list[float]
    """Of each token, and of the end mark if there is one."""
    looped: bool = False
    """Whether the guard against loops ended it."""


Watch = Callable[[int, list[int]], None]
"""Hears after each step of a search which sentence has which best hypothesis so far; what it raises ends the search."""


class NBest:
    """The hypotheses of one sentence, of which the `size` best are asked for."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._hypotheses: list[Hypothesis] = []

    def add(self, hypothesis: Hypothesis) -> None:
        self._hypotheses.append(hypothesis)

    @property
    def to_beat(self) -> float:
        """The score that one more finished hypothesis must exceed to be among the best."""
        finished = sorted((found.score for found in self._hypotheses if found.finished), reverse=True)
        return finished[self._size - 1] if len(finished) >= self._size else -math.inf

    def best(self) -> list[Hypothesis]:
        """The best, in order; those that were cut off come after all that ended by themselves."""
        if not self._hypotheses:
            raise not_numbers()
        return self._ranked()[: self._size]

    def gap(self) -> float:
        """The least difference of scores on which the order of the best rests; infinite for one alone."""
        ranked = self._ranked()[: self._size + 1]
        return min(
            (one.score - other.score for one, other in pairwise(ranked) if one.finished == other.finished),
            default=math.inf,
        )

    def _ranked(self) -> list[Hypothesis]:
        return sorted(self._hypotheses, key=lambda found: (not found.finished, -found.score))


def not_numbers() -> ModelFolderError:
    """What to say where nothing was found."""
    return ModelFolderError(
        "the model's probabilities are not numbers (NaN), so nothing can be translated with it: "
        "its training went wrong; train it again, with a lower learning rate or with clipping"
    )
