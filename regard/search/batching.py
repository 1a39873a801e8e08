"""Batches for a model in use: rows of like length together, cut by a budget of tokens, padded, their order known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from regard.data.vocabulary import PAD_ID


def token_batches(lengths: Sequence[int], batch_tokens: int, most_rows: int | None = None) -> Iterator[list[int]]:
    """Cut indices into batches, longest rows first: rows times the longest within the budget, but at least one row."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        rows = batch_tokens // max(1, lengths[order[start]])
        rows = max(1, rows if most_rows is None else min(rows, most_rows))
        yield order[start : start + rows]
        start += rows


def pad(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids [B, S] of rows of unequal length, and a mask [B, S] that is True on real tokens."""
    lengths = torch.tensor([len(row) for row in rows])
    longest = int(lengths.max())
    padded = torch.tensor([[*row, *[PAD_ID] * (longest - len(row))] for row in rows])
    return padded.to(device), (torch.arange(longest) < lengths[:, None]).to(device)
