"""The training objective in low precision: its matrix products are narrow, all between them is float32.

It is the loss of `regard.train.objective`, written for devices on which matrix products cost more than passes over
memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.train.output_layer import Chunks, OutputLayer, scaled_gradients


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
        chunks = Chunks(len(targets), weight)
        layer = OutputLayer(features, weight, bias, dtype, chunks.most)
        smoothed = weight.new_zeros((), dtype=torch.float64)
        likelihood = weight.new_zeros((), dtype=torch.float64)
        for chunk in chunks.slices:
            wanted = targets[chunk, None]
            log_probabilities = layer.logits(chunk).log_softmax(-1)
            log_likelihood = log_probabilities.gather(1, wanted).sum(dtype=torch.float64)
            mean_log_probability = log_probabilities.sum(dtype=torch.float64) / vocabulary
            likelihood -= log_likelihood
            smoothed -= (1 - smoothing) * log_likelihood + smoothing * mean_log_probability
            gradient = log_probabilities.exp_().sub_(smoothing / vocabulary)
            gradient.scatter_add_(1, wanted, gradient.new_full((1, 1), smoothing - 1).expand_as(wanted))
            layer.differentiate(chunk, gradient)
        ctx.save_for_backward(*layer.gradients())
        likelihood = likelihood.to(weight.dtype)
        ctx.mark_non_differentiable(likelihood)
        return smoothed.to(weight.dtype), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled_gradients(ctx.saved_tensors, gradients[0]), None, None, None
