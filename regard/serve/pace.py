"""How long it will take until there is room again, from how fast sentences were done lately."""

from __future__ import annotations

SHORTEST, LONGEST = 1.0, 60.0
FADING = 0.98


class Pace:
    """Sentences a second of busy workers, the latest counting most."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._sentences = self._seconds = 0.0

    def add(self, sentences: int, seconds: float) -> None:
        """A worker has done so many, in so many seconds."""
        self._sentences = FADING * self._sentences + sentences
        self._seconds = FADING * self._seconds + seconds

    def seconds_for(self, sentences: int) -> float:
        """How long all workers need for so many."""
        if not self._sentences:
            return SHORTEST
        return min(LONGEST, max(SHORTEST, sentences * self._seconds / (self._sentences * self._workers)))
