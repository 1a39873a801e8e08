"""Positions as transformers' M2M100 has them: waves of other lengths than the paper's, and a first position of its own.

Marian and Pegasus use the paper's waves, sines in the first half of a vector and cosines in the second. M2M100 spreads
its wavelengths to 1/10000 exactly, where the paper's stop short of it, and gives the first token the position after
the padding token's number. No reordering makes the one into the other, so the vectors of M2M100 are kept as learned
positions here, and learned positions go out as M2M100 only if they still are these.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def m2m100_positions(length: int, width: int, padding: int) -> Tensor:
    """The vectors [length, width] that M2M100 adds to tokens 1, 2, …; `padding` is the number of its padding token."""
    half = width // 2
    frequency = torch.exp(torch.arange(half).float() * -(math.log(10000) / (half - 1)))
    angle = torch.arange(padding + 1, padding + 1 + length).float()[:, None] * frequency
    waves = torch.cat([angle.sin(), angle.cos()], dim=1)
    return torch.cat([waves, torch.zeros(length, width % 2)], dim=1)


def padding_of(vectors: Tensor) -> int | None:
    """The padding token for which these vectors [length, width] are M2M100's; None where they are not."""
    length, width = vectors.shape
    if width < 4:
        return None
    # The first sine has frequency 1, so the first vector tells the first position; small ones suffice.
    for padding in range(8):
        if torch.allclose(vectors, m2m100_positions(length, width, padding).to(vectors), atol=1e-4, rtol=0):
            return padding
    return None
