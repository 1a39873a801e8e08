"""The residual connection around each sub-layer, with layer norm after it (the paper) or before."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

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

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """What goes on, from the input x and the sub-layer's output y."""
        normed: Tensor = self.norm(self.dropout.add(x, y))
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

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """What goes on, from the input x and the sub-layer's output y."""
        return self.dropout.add(x, y)


Residual = PostNorm | PreNorm
RESIDUALS: dict[str, Callable[[int, Dropout], Residual]] = {"post": PostNorm, "pre": PreNorm}
