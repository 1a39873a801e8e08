"""What can be seen of a beam search while it runs, by those who want to explain it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Continuation = tuple[int, int, float]
"""A row of the beam, the token that continues it, and the log-probability of the whole."""


@dataclass(frozen=True)
class BeamStep:
    """What came into question at a step of the search for one sentence."""

    length: int
    """Tokens of the hypotheses after the step."""
    taken: list[Continuation]
    """What has a place in the beam now, best first; its rows are numbered in this order at the next step."""
    left_out: list[Continuation]
    """The best of the others, as many as there are places again."""


Follow = Callable[[BeamStep], None]
"""Is told of every step in the search for one sentence, and changes nothing."""
