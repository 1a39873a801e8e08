"""A run's changing parts - weights, optimiser, average, standing - and their way into checkpoints and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from regard.config import Config
from regard.models.contract import SequenceToSequence
from regard.models.folder import load_weights, model_weights
from regard.train.averaging import MovingAverage, mean_of
from regard.train.checkpoint import CHECKPOINTS, Checkpoint, CheckpointStore
from regard.train.optimiser import build_optimiser, optimiser_state, restore_optimiser
from regard.train.standing import Standing
from regard.train.team import Team

_OWNER = re.compile(r"(?:model|optimiser|average\.weights)\.([^/]*).*")
"""The parameter that a tensor of a checkpoint belongs to."""


class Session:
    """All that a checkpoint holds; two sessions with equal parts go on equally, to the bit."""

    def __init__(self, model: SequenceToSequence, config: Config, run: Path, team: Team) -> None:
        self.model, self.team = model, team
        self.settings = config.train
        self.optimiser = build_optimiser(model, config.train)
        self.average = MovingAverage(self._averaged(), config.train.ema) if config.train.ema else None
        self.standing = Standing()
        self.store = CheckpointStore(run / CHECKPOINTS, *config.train.kept_checkpoints)
        self._saved_step: int | None = None

    def _averaged(self) -> dict[str, Tensor]:
        """The weights that this process averages: those it owns, or all of them where the average teaches."""
        weights = model_weights(self.model)
        return {name: weights[name] for name, parameter in self.model.named_parameters() if self._averages(parameter)}

    def _averages(self, parameter: Tensor) -> bool:
        return bool(self.settings.self_distillation) or self.team.owns(parameter)

    def update_average(self) -> None:
        if self.average is not None:
            self.average.update(model_weights(self.model))

    def judged_weights(self) -> dict[str, Tensor]:
        """The weights that are validated and handed out: the moving average, where there is one.

        All processes must ask, and the one that leads is told.
        """
        return self.team.whole(model_weights(self.model) if self.average is None else self.average.weights())

    def save(self, score: float | None = None, interim: bool = False) -> None:
        """Write a checkpoint in the leading process; all must take part, for each may hold a part."""
        tensors = {f"model.{name}": tensor for name, tensor in model_weights(self.model).items()}
        tensors |= {f"optimiser.{name}": value for name, value in optimiser_state(self.model, self.optimiser).items()}
        if self.average is not None:
            tensors |= {f"average.{name}": value for name, value in self.average.state().items()}
        tensors = self.team.whole(tensors)
        if self.team.leads:
            self.store.save(self.standing.step, tensors, self.standing.to_facts(), score, interim)
        if not interim:
            self._saved_step = self.standing.step

    @property
    def unsaved(self) -> bool:
        """Whether there were steps since the last checkpoint; an interim one is none."""
        return self.standing.step > 0 and self._saved_step != self.standing.step

    def resume(self) -> Checkpoint | None:
        """Go back to the newest good checkpoint, if there is one: the leading process says which, and all read it."""
        newest = self.store.latest() if self.team.leads else None
        step, number = map(int, self.team.told(newest.place if newest else (0, 0)))
        if not number:
            return None
        with self.team.all_or_none():
            checkpoint = newest or self.store.at(step, number)
            tensors = checkpoint.tensors()
        self._restore(checkpoint, self._parts(tensors))
        return checkpoint

    def _restore(self, checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> None:
        load_weights(self.model, _below("model.", tensors), checkpoint.path)
        restore_optimiser(self.model, self.optimiser, _below("optimiser.", tensors))
        if self.average is not None:
            self.average.restore(_below("average.", tensors))
        self.standing = Standing.from_facts(checkpoint.facts, checkpoint.path)
        self._saved_step = None if checkpoint.interim else checkpoint.step

    def _parts(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Of each tensor of a checkpoint, what this process keeps; all processes go through them in one order."""
        parameters = dict(self.model.named_parameters())
        parts: dict[str, Tensor] = {}
        for name, tensor in sorted(tensors.items()):
            parameter = parameters.get(_OWNER.sub(r"\1", name))
            if parameter is None:
                parts[name] = tensor
            elif self._keeps(name, parameter):
                parts[name] = self.team.kept(tensor, parameter)
        return parts

    def _keeps(self, name: str, parameter: Tensor) -> bool:
        if name.startswith("average."):
            return self._averages(parameter)
        return name.startswith("model.") or self.team.owns(parameter)

    def best_weights(self, newest: dict[str, Tensor]) -> tuple[str, dict[str, Tensor]]:
        """The weights of the best validation, or the newest where there was none; with a word on which."""
        best = self.store.best()
        if best is None:
            return f"the weights of step {self.standing.step:,}", newest
        tensors = best.tensors()
        averaged = MovingAverage.weights_of(_below("average.", tensors))
        chosen = averaged or _below("model.", tensors)
        return f"the best validation, at step {best.step:,}", {name: chosen[name].clone() for name in chosen}

    def mean_weights(self) -> Iterator[tuple[str, dict[str, Tensor]]]:
        """Means of checkpoints' weights that the final model may be, each with a word on which.

        Of the best ones, where there is a moving average, it is this that was judged; so its mean is taken.
        """
        if self.settings.average_last > 1:
            last = self.store.last(self.settings.average_last)
            yield f"the mean of the last {len(last)} checkpoints", mean_of(last, prefix="model.")
        best = self.store.best_few(self.settings.average_best) if self.settings.average_best > 1 else []
        if len(best) > 1:
            prefix = "model." if self.average is None else "average.weights."
            yield f"the mean of the best {len(best)} checkpoints", mean_of(best, prefix=prefix)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
