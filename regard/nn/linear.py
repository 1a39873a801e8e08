"""Linear layers with the starting weights that Transformers train well from."""

from __future__ import annotations

from torch import nn


class Linear(nn.Linear):
    """x Wᵀ + b, where W may be several matrices of one shape, packed one below the other."""

    def __init__(self, inputs: int, outputs: int, parts: int = 1) -> None:
        super().__init__(inputs, outputs * parts)
        self.parts = parts


def linear(inputs: int, outputs: int, parts: int = 1, gain: float = 1.0) -> Linear:
    """Xavier-uniform weights and zero bias; `parts` matrices packed in one start as if each stood alone."""
    layer = Linear(inputs, outputs, parts)
    for part in layer.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain)
    nn.init.zeros_(layer.bias)
    return layer
