"""Consistency regularisation (R-Drop): two passes over a batch, each with dropout of its own, are to say the same.

With p and q what the two passes say of a token, its loss is the mean of their two smoothed cross-entropies plus

    strength · J,    J = (KL(p || q) + KL(q || p)) / 2

Liang et al. 2021 (https://arxiv.org/abs/2106.14448) add the two cross-entropies up instead: their α is twice our
strength. As in `regard.train.objective`, logits are made, differentiated and forgotten in chunks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.native.rows import consistent_gradients_
from regard.train.output_layer import Chunks, OutputLayer, narrow_products, scaled_gradients


def consistent_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, strength: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums over N tokens: what is minimised, and its parts: the smoothed loss, -log p[y] (means of two passes), and J.

    Features [2N, D] have the two passes of a token side by side; weight [V, D], bias [V], targets [N]. Only the first
    sum is differentiable.
    """
    device = features.device.type
    dtype = narrow_products(device)
    with torch.autocast(device, enabled=False):
        losses: tuple[Tensor, Tensor, Tensor, Tensor] = _ConsistentCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, bias, targets, smoothing, strength, dtype
        )
    return losses


class _ConsistentCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        strength: float,
        dtype: torch.dtype | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        vocabulary = len(weight)
        chunks = Chunks(len(targets), weight)
        # The divergence makes gradients larger by about its strength.
        layer = OutputLayer(features, weight, bias, dtype, 2 * chunks.most, growth=1 + strength)
        sums = weight.new_zeros(3, dtype=torch.float64)
        for chunk in chunks.slices:
            wanted = targets[chunk].repeat_interleave(2)[:, None]
            both = slice(2 * chunk.start, 2 * chunk.stop)
            logits = layer.logits(both)
            of_targets = logits.gather(1, wanted)[:, 0]
            normalisers, divergences = consistent_gradients_(
                logits.view(-1, 2, vocabulary), strength, smoothing / vocabulary / 2
            )
            likelihood = (normalisers.flatten() - of_targets).sum(dtype=torch.float64) / 2
            uniform = (normalisers.flatten() - layer.mean_logits[both]).sum(dtype=torch.float64) / 2
            sums[0] += (1 - smoothing) * likelihood + smoothing * uniform
            sums[1] += likelihood
            sums[2] += divergences.sum(dtype=torch.float64)
            logits.scatter_add_(1, wanted, logits.new_full((1, 1), (smoothing - 1) / 2).expand_as(wanted))
            layer.differentiate(both, logits)
        ctx.save_for_backward(*layer.gradients())
        smoothed, likelihood, divergence = (each.clone() for each in sums.to(weight.dtype))
        ctx.mark_non_differentiable(smoothed, likelihood, divergence)
        return (sums[0] + strength * sums[2]).to(weight.dtype), smoothed, likelihood, divergence

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled_gradients(ctx.saved_tensors, gradients[0]), None, None, None, None
