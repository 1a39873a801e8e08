"""What a search finds: hypotheses, and the n-best list of a sentence that they are gathered in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.errors import ModelFolderError


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output: `tokens` without the marks of beginning and end."""

    tokens: list[int]
    score: float
    """The log-probability after the length penalty: what hypotheses of one sentence are ranked by."""
    log_probability: float
    """The sum over the tokens, the end mark included if there is one."""
    finished: bool
    """Whether the model ended it; otherwise the length limit did."""


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
        """The best, in order; those that the length limit cut off come after all that ended by themselves."""
        if not self._hypotheses:
            raise ModelFolderError(
                "the model's probabilities are not numbers (NaN), so nothing can be translated with it: "
                "its training went wrong; train it again, with a lower learning rate or with clipping"
            )
        ranked = sorted(self._hypotheses, key=lambda found: (not found.finished, -found.score))
        return ranked[: self._size]
