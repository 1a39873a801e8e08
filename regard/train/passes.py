"""The passes of one step through the model: which batches, with which dropout, and beside what they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from regard.config import TrainConfig
from regard.data.batch import Batch
from regard.models.contract import SequenceToSequence
from regard.train.risk import Candidates, FindCandidates, weigh
from regard.train.sayings import Teacher
from regard.train.team import Team


@dataclass(frozen=True)
class Pass:
    """One batch that goes through the model, forward and back."""

    batch: Batch
    key: tuple[int, ...]
    """What its dropout follows from."""
    teacher: Teacher | None = None
    weights: Tensor | None = None
    """[rows] for a batch of candidates."""


class Passes:
    """Makes the passes of each step of a run.

    A batch of a step draws the same dropout whether one process takes it whole, several take one batch each, or
    several take a part each; candidates, which each process finds for its own rows, draw a process's own.
    """

    def __init__(
        self,
        model: SequenceToSequence,
        settings: TrainConfig,
        team: Team,
        teacher: Teacher | None,
        find_candidates: FindCandidates | None,
    ) -> None:
        if settings.risk and find_candidates is None:
            raise ValueError("train.risk needs something that finds candidates")
        if settings.teachers and teacher is None:
            raise ValueError("train.teachers needs the model of these teachers")
        self._model, self._settings, self._team = model, settings, team
        self._teacher, self._find = teacher, find_candidates

    def compares(self, step: int) -> bool:
        """Whether a step compares two passes, of the model or of it and its teacher."""
        return step > self._settings.steps_of_one_pass

    def weighs_risk(self, step: int) -> bool:
        """Whether candidates count in a step."""
        return self._find is not None and step > self._settings.risk_after

    def of(self, batches: Sequence[Batch], step: int) -> tuple[list[Pass], float]:
        """The passes of a step, and the summed risk of its candidates as the model is now."""
        candidates = [self._candidates(batch) for batch in batches] if self.weighs_risk(step) else []
        passes = [*self._of_text(batches, step), *self._of_candidates(candidates, step)]
        return passes, sum(found.risk for found in candidates)

    def _of_text(self, batches: Sequence[Batch], step: int) -> Iterator[Pass]:
        teacher = self._teacher if self.compares(step) else None
        twice = self.compares(step) and teacher is None
        for number, batch in enumerate(batches):
            place = number * self._team.turns + self._team.turn
            yield Pass(batch.twice() if twice else batch, (step, place), teacher)

    def _of_candidates(self, candidates: Sequence[Candidates], step: int) -> Iterator[Pass]:
        for number, found in enumerate(candidates):
            for place, (batch, weights) in enumerate(found.batches):
                yield Pass(batch, (step, number, self._team.rank, place), weights=weights)

    def _candidates(self, batch: Batch) -> Candidates:
        assert self._find is not None
        return weigh(batch, self._find(self._model, batch))
