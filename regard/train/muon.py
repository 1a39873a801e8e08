"""Muon: momentum whose every matrix is made orthogonal before it is applied (Jordan et al., 2024).

For a matrix W with gradient G, momentum μ, learning rate η and weight decay λ:

    M ← μ M + (1 - μ) G        the mean of gradients
    N = μ M + (1 - μ) G        Nesterov's look ahead
    O ≈ U Vᵀ, N being U Σ Vᵀ   all directions equally long, by five steps of a Newton-Schulz iteration
    W ← (1 - η λ) W - η · 0.2 √max(rows, columns) · O

The last factor gives an update the size that Adam's updates have (Liu et al., 2025), whatever the shape. This equals
torch.optim.Muon with `match_rms_adamw`, except in two things: the iteration runs in the weights' own precision, or
that of the run's products (torch's uses bfloat16, which many CPUs lack), and matrices that are packed in one weight are
made orthogonal each by itself. A matrix at a time: it stays in the cache, and that was quicker than batched products.
In C (`regard/native/orthogonal.c`) all of it is one call, and of the symmetric products only a half is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.native.muon import muon_step, suits_muon

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
                    if not self.state[weight]:
                        self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
                    tensors = (weight, weight.grad, self.state[weight]["momentum_buffer"])
                    parts = (tensor.chunk(self._parts[weight]) for tensor in tensors)
                    for matrix, gradient, mean in zip(*parts, strict=True):
                        kept = 1 - group["lr"] * group["weight_decay"]
                        change = group["lr"] * SIZE_OF_ADAM * max(matrix.shape) ** 0.5
                        change_matrix = muon_step if suits_muon(matrix, gradient, mean) else plain_step
                        change_matrix(matrix, gradient, mean, group["momentum"], kept, change)


def plain_step(weight: Tensor, gradient: Tensor, mean: Tensor, momentum: float, kept: float, change: float) -> None:
    """One step of one matrix [rows, columns]: W ← kept W - change O. The form in C must equal it."""
    mean.lerp_(gradient, 1 - momentum)
    weight.mul_(kept).add_(orthogonal(gradient.lerp(mean, momentum)), alpha=-change)


def orthogonal(matrix: Tensor) -> Tensor:
    """About U Vᵀ, for a matrix U Σ Vᵀ: X ← a X + (b XXᵀ + c (XXᵀ)²) X, five times, on the side that is shorter."""
    if matrix.size(0) > matrix.size(1):
        return orthogonal(matrix.T).T
    a, b, c = COEFFICIENTS
    x: Tensor = matrix / matrix.norm().clamp(min=SMALLEST_NORM)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
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
