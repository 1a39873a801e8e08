"""Averages of weights: a moving one while a model learns, and the mean of checkpoints when it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.train.checkpoint import Checkpoint

_WEIGHTS, _UPDATES = "weights.", "updates"


class MovingAverage:
    """An exponential moving average of weights: average = d * average + (1 - d) * weights after each step.

    d grows to `decay` as min(decay, (1 + n) / (10 + n)) with the number n of updates before, so that the first,
    random weights are soon forgotten; with `warm=False` it is `decay` from the start.
    """

    def __init__(self, weights: Mapping[str, Tensor], decay: float, warm: bool = True) -> None:
        self.decay, self.warm = decay, warm
        self.updates = 0
        self._average = {name: tensor.detach().clone() for name, tensor in weights.items()}

    @torch.no_grad()
    def update(self, weights: Mapping[str, Tensor]) -> None:
        """Take in the weights after a step."""
        n = self.updates
        decay = min(self.decay, (1 + n) / (10 + n)) if self.warm else self.decay
        current = [weights[name].detach() for name in self._average]
        torch._foreach_lerp_(list(self._average.values()), current, 1 - decay)
        self.updates += 1

    def weights(self) -> dict[str, Tensor]:
        """The averaged weights by name: the tensors themselves, the same ones always, which the next update changes."""
        return dict(self._average)

    def state(self) -> dict[str, Tensor]:
        """All that a checkpoint must keep."""
        named = {_WEIGHTS + name: tensor for name, tensor in self._average.items()}
        return {**named, _UPDATES: torch.tensor(self.updates)}

    @staticmethod
    def weights_of(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The averaged weights in a state that a checkpoint kept."""
        return {name.removeprefix(_WEIGHTS): state[name] for name in state if name.startswith(_WEIGHTS)}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state that a checkpoint kept."""
        kept = self.weights_of(state)
        shapes = {name: tensor.shape for name, tensor in self._average.items()}
        if _UPDATES not in state or {name: tensor.shape for name, tensor in kept.items()} != shapes:
            raise RegardError(
                "the checkpoint holds no moving average for this model: go on with the `train.ema` and the model "
                "that the run began with, or start a new run"
            )
        for name, tensor in self._average.items():
            tensor.copy_(kept[name])
        self.updates = int(state[_UPDATES])


def mean_of(checkpoints: Sequence[Checkpoint], prefix: str = "model.") -> dict[str, Tensor]:
    """The mean of the checkpoints' tensors under `prefix`, by their names without it.

    Sums are taken in 64 bits, one checkpoint in memory at a time; tensors that are not floating point are those
    of the first checkpoint.
    """
    if not checkpoints:
        raise RegardError("there is no checkpoint to take the mean of: train until there is one")
    first: dict[str, Tensor] = {}
    sums: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        tensors = _under(prefix, checkpoint)
        if not first:
            first = {name: torch.empty_like(t) if t.is_floating_point() else t for name, t in tensors.items()}
            sums = {name: t.new_zeros(t.shape, dtype=torch.float64) for name, t in tensors.items()}
        if {name: t.shape for name, t in tensors.items()} != {name: t.shape for name, t in first.items()}:
            raise RegardError(
                f"{checkpoint.path}: holds other tensors than {checkpoints[0].path}: "
                "a mean is possible only for checkpoints of one model"
            )
        for name, tensor in tensors.items():
            if tensor.is_floating_point():
                sums[name] += tensor
        del tensors, tensor  # before the next are read
    return {
        name: (sums[name] / len(checkpoints)).to(tensor.dtype) if tensor.is_floating_point() else tensor
        for name, tensor in first.items()
    }


def _under(prefix: str, checkpoint: Checkpoint) -> dict[str, Tensor]:
    tensors = checkpoint.tensors()
    found = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    if not found:
        raise RegardError(f"{checkpoint.path}: has no tensor whose name begins with {prefix}")
    return found
