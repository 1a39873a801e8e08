"""Numbers too small for a processor to be quick with: while a model learns, they are zero."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_TINY = 1e-40
"""Below the smallest normal float, 1.2e-38."""


@contextmanager
def tiny_numbers_are_zero() -> Iterator[None]:
    """In this thread, and in those that it starts meanwhile, a result below the smallest normal float is 0.

    Sharp attention makes such numbers by the million on the way back, and a processor takes many times as long over
    each: a run would become slower and slower as it learns.
    """
    before = are_zero()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def are_zero() -> bool:
    """Whether this thread takes tiny numbers for zero."""
    return (torch.full((1,), _TINY) * 1.0).item() == 0.0
