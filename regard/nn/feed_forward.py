"""The position-wise feed-forward network, plain or gated; its last layer, `outer`, is the residual's to apply."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from regard.native.rows import linear_relu, suits
from regard.nn.linear import linear
from regard.nn.randomness import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swish": F.silu,
    "gated-gelu": F.gelu,
    "swiglu": F.silu,
}
GATED = ("gated-gelu", "swiglu")


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, or with another activation in place of max(0, ·)."""

    def __init__(self, width: int, inner: int, activation: str, dropout: Dropout) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.inner = linear(width, inner)
        self.outer = linear(inner, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """From x [B, T, D] to what `outer` expects [B, T, F], each position by itself."""
        if self.activation is F.relu and suits(x, self.inner.out_features):
            inner = linear_relu(x, self.inner.weight, self.inner.bias)
        else:
            inner = self.activation(self.inner(x))
        dropped: Tensor = self.dropout(inner)
        return dropped


class GatedFeedForward(nn.Module):
    """(activation(x W₁) ⊙ x V) W₂: one half of the inner layer opens and closes the other (Shazeer, 2020)."""

    def __init__(self, width: int, inner: int, activation: str, dropout: Dropout) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.gate_and_inner = linear(width, inner, parts=2)
        self.outer = linear(inner, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """From x [B, T, D] to what `outer` expects [B, T, F], each position by itself."""
        gate, inner = self.gate_and_inner(x).chunk(2, dim=-1)
        dropped: Tensor = self.dropout(self.activation(gate) * inner)
        return dropped


AnyFeedForward = FeedForward | GatedFeedForward


def build_feed_forward(width: int, inner: int, activation: str, dropout: Dropout) -> AnyFeedForward:
    """The network that an activation's name asks for."""
    return (GatedFeedForward if activation in GATED else FeedForward)(width, inner, activation, dropout)
