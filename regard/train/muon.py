"""Muon: momentum whose every matrix is made orthogonal before it is applied (Jordan et al., 2024).

For a matrix W with gradient G, momentum μ, learning rate η and weight decay λ:

    M ← μ M + (1 - μ) G        the mean of gradients
    N = μ M + (1 - μ) G        Nesterov's look ahead
    O ≈ U Vᵀ, N being U Σ Vᵀ   all directions equally long, by five steps of a Newton-Schulz iteration
    W ← (1 - η λ) W - η · 0.2 √max(rows, columns) · O

The last factor gives an update the size that Adam's updates have (Liu et al., 2025), whatever the shape. This equals
torch.optim.Muon with `match_rms_adamw`, except in two things: the iteration runs in the weights' own precision
(torch's uses bfloat16, which many CPUs lack), and matrices that are packed in one weight are made orthogonal each by
itself. A matrix at a time: it stays in the cache, and that was quicker than batched products.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.native.multiplying import multiply

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic that drives singular values between 0 and 1 towards 1; they end between about 0.7 and 1.2."""
ITERATIONS = 5
SMALLEST_NORM = 1e-7
SIZE_OF_ADAM = 0.2
"""The root mean square of Adam's updates, as a share of the learning rate."""


class Muon(torch.optim.Optimizer):
    """Muon over weights [rows, columns]; `matrices` says how many matrices are packed in each, one below the other."""

    def __init__(self, matrices: Mapping[Tensor, int], momentum: float, weight_decay: float, **group: Any) -> None:
        self._parts = dict(matrices)
        defaults = {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay, **group}
        super().__init__(list(matrices), defaults)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Apply the gradients."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    update = self._update(weight, weight.grad, group["momentum"])
                    self._apply(weight, update, group["lr"], group["weight_decay"])

    def _update(self, weight: Tensor, gradient: Tensor, momentum: float) -> Tensor:
        if not self.state[weight]:
            self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        mean: Tensor = self.state[weight]["momentum_buffer"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(mean, momentum)

    def _apply(self, weight: Tensor, update: Tensor, rate: float, decay: float) -> None:
        weight.mul_(1 - rate * decay)
        count = self._parts[weight]
        for part, change in zip(weight.chunk(count), update.chunk(count), strict=True):
            part.add_(orthogonal(change), alpha=-rate * SIZE_OF_ADAM * max(part.shape) ** 0.5)


def orthogonal(matrix: Tensor) -> Tensor:
    """About U Vᵀ, for a matrix U Σ Vᵀ: X ← a X + (b XXᵀ + c (XXᵀ)²) X, five times, on the side that is shorter."""
    if matrix.size(0) > matrix.size(1):
        return orthogonal(matrix.T).T
    a, b, c = COEFFICIENTS
    x: Tensor = matrix / matrix.norm().clamp(min=SMALLEST_NORM)
    gram, factor = (x.new_empty(len(x), len(x)) for _ in range(2))
    for _ in range(ITERATIONS):
        multiply(x, x.T, gram)
        multiply(gram, gram, factor).mul_(c).add_(gram, alpha=b)
        x = multiply(factor, x, a * x, keep=True)
    return x


class Together(torch.optim.Optimizer):
    """Several optimisers, each with parameters of its own, that look like one."""

    def __init__(self, optimisers: Iterable[torch.optim.Optimizer]) -> None:
        self.optimisers = list(optimisers)
        super().__init__([group for optimiser in self.optimisers for group in optimiser.param_groups], {})
        for optimiser in self.optimisers:
            optimiser.state = self.state

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """One step of each."""
        for optimiser in self.optimisers:
            optimiser.step()
