"""Linear layers with the starting weights that Transformers train well from."""

from __future__ import annotations

from torch import nn


def linear(inputs: int, outputs: int, parts: int = 1, gain: float = 1.0) -> nn.Linear:
    """x Wᵀ + b, Xavier-uniform weights and zero bias; `parts` matrices packed in one start as if each stood alone."""
    layer = nn.Linear(inputs, outputs * parts)
    for part in layer.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain)
    nn.init.zeros_(layer.bias)
    return layer
