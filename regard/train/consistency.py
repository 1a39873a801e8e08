"""Consistency regularisation (R-Drop): two passes over a batch, each with dropout of its own, are to say the same.

With p and q what the two passes say of a token, its loss is the mean of their two smoothed cross-entropies plus

    strength · J,    J = (KL(p || q) + KL(q || p)) / 2

Liang et al. 2021 (https://arxiv.org/abs/2106.14448) add the two cross-entropies up instead: their α is twice our
strength. As in `regard.train.objective`, logits are made, differentiated and forgotten in chunks.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.native.multiplying import lay_out, multiply
from regard.native.rows import consistent_gradients_
from regard.train.narrow_loss import magnification

CHUNK_ELEMENTS = {"cpu": 1 << 21}
LARGE_CHUNK_ELEMENTS = 1 << 24
"""Logits in a chunk: what fits the cache of a CPU, and what keeps another device busy."""


def consistent_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, strength: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums over N tokens: what is minimised, and its parts: the smoothed loss, -log p[y] (means of two passes), and J.

    Features [2N, D] have the two passes of a token side by side; weight [V, D], bias [V], targets [N]. Only the first
    sum is differentiable.
    """
    device = features.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
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
        products = _Products(features, weight, bias, dtype, strength)
        bias_gradient = torch.zeros_like(bias) if bias is not None else None
        sums = weight.new_zeros(3, dtype=torch.float64)
        # Σ_v logits[v] = features · Σ_v weight[v] + Σ_v bias[v]
        mean_logits = (
            features.to(weight.dtype) @ weight.sum(0) + (bias.sum() if bias is not None else 0.0)
        ) / vocabulary
        for chunk in products.chunks(len(targets)):
            wanted = targets[chunk].repeat_interleave(2)[:, None]
            both = slice(2 * chunk.start, 2 * chunk.stop)
            logits = products.logits(both)
            of_targets = logits.gather(1, wanted)[:, 0]
            normalisers, divergences = consistent_gradients_(
                logits.view(-1, 2, vocabulary), strength, smoothing / vocabulary / 2
            )
            likelihood = (normalisers.flatten() - of_targets).sum(dtype=torch.float64) / 2
            uniform = (normalisers.flatten() - mean_logits[both]).sum(dtype=torch.float64) / 2
            sums[0] += (1 - smoothing) * likelihood + smoothing * uniform
            sums[1] += likelihood
            sums[2] += divergences.sum(dtype=torch.float64)
            logits.scatter_add_(1, wanted, logits.new_full((1, 1), (smoothing - 1) / 2).expand_as(wanted))
            if bias_gradient is not None:
                bias_gradient += logits.sum(0)
            products.differentiate(both, logits)
        ctx.save_for_backward(*products.gradients(), *([] if bias_gradient is None else [bias_gradient]))
        smoothed, likelihood, divergence = (each.clone() for each in sums.to(weight.dtype))
        ctx.mark_non_differentiable(smoothed, likelihood, divergence)
        return (sums[0] + strength * sums[2]).to(weight.dtype), smoothed, likelihood, divergence

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale = gradients[0]
        features, weight, *bias = ctx.saved_tensors
        if scale.device.type == "cpu" and scale == 1:  # as it is when this is the last function of all
            return features, weight, bias[0] if bias else None, None, None, None, None
        return features * scale, weight * scale, bias[0] * scale if bias else None, None, None, None, None


class _Products:
    """The matrix products of the output layer, chunk by chunk, in float32 or narrow; all between them is wide."""

    def __init__(
        self, features: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None, strength: float
    ) -> None:
        elements = CHUNK_ELEMENTS.get(features.device.type, LARGE_CHUNK_ELEMENTS)
        self._most = max(1, elements // (2 * len(weight)))
        self._features, self._bias, self._wide = features, bias, weight.dtype
        self._dtype = dtype or weight.dtype
        self._weight = weight.to(self._dtype)
        self._forward, self._back = lay_out(self._weight.t()), lay_out(self._weight)
        # The divergence makes gradients larger by about its strength.
        self._magnified = (
            1.0 if dtype is None else magnification(2 * self._most) / 2 ** math.ceil(math.log2(1 + strength))
        )
        self._buffer = weight.new_empty(2 * self._most, len(weight)) if dtype is None else None
        self._by_features = torch.empty_like(features, dtype=weight.dtype)
        self._by_turned_weight = torch.zeros_like(weight.t(), memory_format=torch.contiguous_format)

    def chunks(self, tokens: int) -> list[slice]:
        """Slices of tokens, of nearly equal size, none larger than a chunk may be."""
        count = -(-tokens // self._most)
        return [slice(tokens * number // count, tokens * (number + 1) // count) for number in range(count)]

    def logits(self, rows: slice) -> Tensor:
        """Logits [2n, V] of some rows, which the next call writes over."""
        if self._buffer is None:
            logits = F.linear(self._features[rows].to(self._dtype), self._weight).to(self._wide)
        else:
            logits = self._buffer[: rows.stop - rows.start]
            multiply(self._features[rows], self._forward, logits)
        return logits if self._bias is None else logits.add_(self._bias)

    def differentiate(self, rows: slice, gradient: Tensor) -> None:
        """Take in the gradient [2n, V] by the logits of some rows."""
        if self._buffer is None:
            narrow = gradient.mul_(self._magnified).to(self._dtype)
            self._by_features[rows] = narrow @ self._weight
            self._by_turned_weight += self._features[rows].to(self._dtype).t() @ narrow
        else:
            multiply(gradient, self._back, self._by_features[rows])
            multiply(self._features[rows].t(), gradient, self._by_turned_weight, keep=True)

    def gradients(self) -> tuple[Tensor, Tensor]:
        """By the features and by the weight."""
        by_features, by_weight = self._by_features, self._by_turned_weight.t().contiguous()
        if self._buffer is None:
            by_features, by_weight = by_features.div_(self._magnified), by_weight.div_(self._magnified)
        return by_features.to(self._features.dtype), by_weight
