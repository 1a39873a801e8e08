"""The training objective in low precision: its matrix products are narrow, all between them is float32.

It is the loss of `regard.train.objective`, written for devices on which matrix products cost more than passes over
memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK_ELEMENTS = {"cpu": 1 << 20}
LARGE_CHUNK_ELEMENTS = 1 << 24
"""Logits in a chunk: what fits the cache of a CPU, and what keeps another device busy."""


def narrow_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Sums of the smoothed loss and of -log p[y], for features [N, D], weight [V, D], bias [V], targets [N]."""
    with torch.autocast(features.device.type, enabled=False):
        losses: tuple[Tensor, Tensor] = _NarrowCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, bias, targets, smoothing, dtype
        )
    return losses


class _NarrowCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        vocabulary = len(weight)
        size = max(1, CHUNK_ELEMENTS.get(features.device.type, LARGE_CHUNK_ELEMENTS) // vocabulary)
        magnified = magnification(size)
        narrow_weight = weight.to(dtype)
        features_gradient = torch.empty_like(features, dtype=weight.dtype)
        weight_gradient = torch.zeros_like(weight)
        bias_gradient = torch.zeros_like(bias) if bias is not None else None
        smoothed = weight.new_zeros((), dtype=torch.float64)
        likelihood = weight.new_zeros((), dtype=torch.float64)
        for start in range(0, len(targets), size):
            chunk = slice(start, start + size)
            rows, wanted = features[chunk].to(dtype), targets[chunk, None]
            logits = F.linear(rows, narrow_weight).to(weight.dtype)
            log_probabilities = (logits if bias is None else logits + bias).log_softmax(-1)
            log_likelihood = log_probabilities.gather(1, wanted).sum(dtype=torch.float64)
            mean_log_probability = log_probabilities.sum(dtype=torch.float64) / vocabulary
            likelihood -= log_likelihood
            smoothed -= (1 - smoothing) * log_likelihood + smoothing * mean_log_probability
            gradient = log_probabilities.exp_().sub_(smoothing / vocabulary)
            gradient.scatter_add_(1, wanted, gradient.new_full((1, 1), smoothing - 1).expand_as(wanted))
            if bias_gradient is not None:
                bias_gradient += gradient.sum(0)
            narrow_gradient = gradient.mul_(magnified).to(dtype)
            features_gradient[chunk] = narrow_gradient @ narrow_weight
            weight_gradient += narrow_gradient.t() @ rows
        gradients = (features_gradient.div_(magnified).to(features.dtype), weight_gradient.div_(magnified))
        ctx.save_for_backward(*gradients, *([] if bias_gradient is None else [bias_gradient]))
        likelihood = likelihood.to(weight.dtype)
        ctx.mark_non_differentiable(likelihood)
        return smoothed.to(weight.dtype), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale = gradients[0]
        features, weight, *bias = ctx.saved_tensors
        return features * scale, weight * scale, bias[0] * scale if bias else None, None, None, None


def magnification(rows: int) -> float:
    """A power of two that lifts probabilities out of float16's subnormal numbers, and keeps sums over rows in range."""
    return float(2 ** max(0, min(10, (8192 // rows).bit_length() - 1)))
