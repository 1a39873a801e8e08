"""The output layer's matrix products, made, differentiated and forgotten in chunks of rows, for losses to be made of.

On a CPU a chunk stays in the cache; products are in float32 or narrow, and all between them is wide.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.native.multiplying import lay_out, multiply

CHUNK_ELEMENTS = {"cpu": 1 << 21}
LARGE_CHUNK_ELEMENTS = 1 << 24
"""Logits in a chunk: what fits the cache of a CPU, and what keeps another device busy."""
WHOLE_ROWS = 32
"""Products in tiles (regard/native/tiles.h) make so many rows at once."""


def narrow_products(device: str) -> torch.dtype | None:
    """The precision that autocast asks of products; None where it asks nothing."""
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def slices(rows: int, most: int) -> list[slice]:
    """Slices of nearly equal size, none above `most`; all but the last of whole WHOLE_ROWS, if `most` allows."""
    if rows == 0:
        return []
    together = WHOLE_ROWS if most >= WHOLE_ROWS else 1
    count = -(-rows // (most // together * together))
    size = -(-rows // (count * together)) * together
    return [slice(begin, min(begin + size, rows)) for begin in range(0, rows, size)]


class Chunks:
    """Tokens in slices, none larger than a chunk with logits of two rows for each of them may be."""

    def __init__(self, tokens: int, weight: Tensor) -> None:
        elements = CHUNK_ELEMENTS.get(weight.device.type, LARGE_CHUNK_ELEMENTS)
        self.most = max(1, elements // (2 * len(weight)))
        self.slices = slices(tokens, self.most)


class OutputLogits:
    """Logits [n, V] of some of the rows of features [N, D], by weight [V, D] and bias [V]."""

    def __init__(
        self, features: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None, most_rows: int
    ) -> None:
        self._features, self._bias, self._wide = features, bias, weight.dtype
        self._dtype = dtype or weight.dtype
        self._weight = weight.to(self._dtype)
        self._forward = lay_out(self._weight.t())
        self._buffer = weight.new_empty(most_rows, len(weight)) if dtype is None else None

    def logits(self, rows: slice) -> Tensor:
        """Logits [n, V] of some rows, which the next call writes over."""
        if self._buffer is None:
            logits = F.linear(self._features[rows].to(self._dtype), self._weight).to(self._wide)
        else:
            logits = self._buffer[: rows.stop - rows.start]
            multiply(self._features[rows], self._forward, logits)
        return logits if self._bias is None else logits.add_(self._bias)


class OutputLayer(OutputLogits):
    """The same, with gradients by features, weight and bias.

    `growth` says about how many times as large as those of a cross-entropy gradients by the logits are.
    """

    def __init__(
        self,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        dtype: torch.dtype | None,
        most_rows: int,
        growth: float = 1.0,
    ) -> None:
        super().__init__(features, weight, bias, dtype, most_rows)
        self._back = lay_out(self._weight)
        self._magnified = 1.0 if dtype is None else magnification(most_rows) / 2 ** math.ceil(math.log2(growth))
        self._by_features = torch.empty_like(features, dtype=weight.dtype)
        self._by_turned_weight = torch.zeros_like(weight.t(), memory_format=torch.contiguous_format)
        self._by_bias = torch.zeros_like(bias) if bias is not None else None
        # Σ_v logits[v] = features · Σ_v weight[v] + Σ_v bias[v]
        sums = features.to(weight.dtype) @ weight.sum(0) + (bias.sum() if bias is not None else 0.0)
        self.mean_logits = sums / len(weight)

    def differentiate(self, rows: slice, gradient: Tensor) -> None:
        """Take in the gradient [n, V] by the logits of some rows."""
        if self._by_bias is not None:
            self._by_bias += gradient.sum(0)
        if self._buffer is None:
            narrow = gradient.mul_(self._magnified).to(self._dtype)
            self._by_features[rows] = narrow @ self._weight
            self._by_turned_weight += self._features[rows].to(self._dtype).t() @ narrow
        else:
            multiply(gradient, self._back, self._by_features[rows])
            multiply(self._features[rows].t(), gradient, self._by_turned_weight, keep=True)

    def gradients(self) -> list[Tensor]:
        """By the features and by the weight, and by the bias where there is one."""
        by_features, by_weight = self._by_features, self._by_turned_weight.t().contiguous()
        if self._buffer is None:
            by_features, by_weight = by_features.div_(self._magnified), by_weight.div_(self._magnified)
        found = [by_features.to(self._features.dtype), by_weight]
        return found if self._by_bias is None else [*found, self._by_bias]


def scaled_gradients(gradients: tuple[Tensor, ...], scale: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients by features, weight and bias, made in the forward pass, times that of the loss."""
    if not (scale.device.type == "cpu" and scale == 1):  # it is 1 when the loss is the last function of all
        gradients = tuple(gradient * scale for gradient in gradients)
    return gradients if len(gradients) == 3 else (*gradients, None)


def magnification(rows: int) -> float:
    """A power of two that lifts probabilities out of float16's subnormal numbers, and keeps sums over rows in range."""
    return float(2 ** max(0, min(10, (8192 // rows).bit_length() - 1)))
