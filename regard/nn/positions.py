"""How a model knows the order of tokens: sinusoids, learned vectors, or rotation of queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """The table [length, width] of "Attention Is All You Need", in float64.

    PE(pos, 2i) = sin(pos / 10000^(2i/width)),  PE(pos, 2i+1) = cos(pos / 10000^(2i/width))
    """
    sine, cosine = _waves(length, width)
    return torch.stack([sine, cosine], dim=-1).flatten(1)


def concatenated_sinusoids(length: int, width: int) -> Tensor:
    """The same waves [length, width] with all sines in the first half and all cosines in the second."""
    return torch.cat(_waves(length, width), dim=-1)


def _waves(length: int, width: int) -> tuple[Tensor, Tensor]:
    frequency = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return angle.sin(), angle.cos()


class NoPositions(nn.Module):
    """Adds nothing: for rotary attention, or to show that attention alone knows no order."""

    limit: int | None = None

    def forward(self, x: Tensor, start: int = 0) -> Tensor:  # noqa: ARG002 - the signature of its kind
        """Give back x [B, T, D], whose first token stands at position `start`."""
        return x

    def table(self, length: int) -> Tensor | None:  # noqa: ARG002 - the signature of its kind
        """The vectors [length, D] of the first positions; None where nothing is added."""
        return None


class FixedPositions(nn.Module):
    """Adds a table of waves that grows as needed, so that no sentence is too long."""

    limit: int | None = None

    def __init__(self, width: int, concatenated: bool = False) -> None:
        super().__init__()
        self._waves = concatenated_sinusoids if concatenated else sinusoids
        self._width = width
        self._table = torch.empty(0, width)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add the vectors of positions start, start + 1, … to x [B, T, D]."""
        end = start + x.size(1)
        if end > len(self._table) or self._table.device != x.device:
            self._table = self._waves(max(2 * end, 256), self._width).to(x)
        return x + self._table[start:end]

    def table(self, length: int) -> Tensor:
        """The vectors [length, D] of the first positions."""
        return self._waves(length, self._width).float()


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position up to a limit."""

    def __init__(self, limit: int, width: int) -> None:
        super().__init__()
        self.limit = limit
        self.vectors = nn.Parameter(torch.empty(limit, width))
        nn.init.normal_(self.vectors, std=width**-0.5)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add the vectors of positions start, start + 1, … to x [B, T, D]."""
        return x + self.vectors[start : start + x.size(1)]

    def table(self, length: int) -> Tensor:  # noqa: ARG002 - it has as many as it has
        """The vectors [limit, D] of all positions."""
        return self.vectors


class Rotation(nn.Module):
    """Rotary positions: turns each pair of a head's elements by an angle that grows with the position (RoFormer)."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self._width = head_width
        self._tables = torch.empty(2, 0, head_width)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Rotate queries or keys x [B, H, T, E], whose first position is `start`."""
        straight, crossed = self.tables(start, start + x.size(2), x)
        exchanged = x.reshape(*x.shape[:-1], -1, 2).flip(-1).flatten(-2)
        return x * straight + exchanged * crossed

    def tables(self, start: int, end: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """For some positions cosines, each twice, and sines, the first of each two negative: both [end - start, E].

        A vector is turned by the sum of itself times the one, and of itself with each two elements exchanged times
        the other.
        """
        tables = self._tables
        if end > tables.size(1) or tables.device != like.device or tables.dtype != like.dtype:
            with torch.inference_mode(False):  # gradients may pass where they are used next
                sine, cosine = _waves(max(2 * end, 256), self._width)
                straight, crossed = torch.stack([cosine, cosine], dim=-1), torch.stack([-sine, sine], dim=-1)
                tables = torch.stack([straight, crossed]).flatten(2).to(like.device, like.dtype)
            self._tables = tables
        return tables[0, start:end], tables[1, start:end]
