"""The residual connection around each sub-layer, with layer norm after it (the paper) or before."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from regard.native.rows import add_norm, suits
from regard.nn.randomness import Dropout


class PostNorm(nn.Module):
    """LayerNorm(x + dropout(sublayer(x)))"""

    def __init__(self, width: int, dropout: Dropout) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = dropout

    def enter(self, x: Tensor) -> Tensor:
        """What the sub-layer receives."""
        return x

    def leave(self, x: Tensor, inner: Tensor, last: nn.Linear) -> Tensor:
        """What goes on, from the input x [..., D], what the sub-layer made of it, and the sub-layer's last layer."""
        if not suits(x):
            return self.reference(x, inner, last)
        y = F.linear(inner, last.weight)
        return add_norm(x, y, last.bias, self.dropout.mask(y), self.norm.weight, self.norm.bias, self.norm.eps)

    def reference(self, x: Tensor, inner: Tensor, last: nn.Linear) -> Tensor:
        """The plain form of `leave`, which the fast one must equal."""
        normed: Tensor = self.norm(self.dropout.add(x, last(inner)))
        return normed


class PreNorm(nn.Module):
    """x + dropout(sublayer(LayerNorm(x)))"""

    def __init__(self, width: int, dropout: Dropout) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = dropout

    def enter(self, x: Tensor) -> Tensor:
        """What the sub-layer receives."""
        normed: Tensor = self.norm(x)
        return normed

    def leave(self, x: Tensor, inner: Tensor, last: nn.Linear) -> Tensor:
        """What goes on, from the input x [..., D], what the sub-layer made of it, and the sub-layer's last layer."""
        return self.dropout.add(x, last(inner))


Residual = PostNorm | PreNorm
RESIDUALS: dict[str, Callable[[int, Dropout], Residual]] = {"post": PostNorm, "pre": PreNorm}
