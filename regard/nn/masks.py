"""Who may attend to whom: predicates on positions, and masks made of them. True means "may attend", everywhere."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Pattern = Callable[[Tensor, Tensor], Tensor]
"""A predicate on query positions [Q, 1] and key positions [1, K] that gives a mask [Q, K]."""


def causal(query: Tensor, key: Tensor) -> Tensor:
    """Each position sees itself and what precedes it."""
    return key <= query


def pattern_mask(pattern: Pattern, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """The mask [Q, K] of a pattern."""
    return pattern(torch.arange(queries, device=device)[:, None], torch.arange(keys, device=device)[None, :])


def padding_mask(mask: Tensor) -> Tensor | None:
    """From real tokens [B, K] to a mask for attention [B, 1, 1, K]; None where there is no padding."""
    return None if bool(mask.all()) else mask[:, None, None, :]
