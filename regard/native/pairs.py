"""Whether products in C round their factors to bfloat16, two terms side by side; sums, and all else, stay float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from regard.native.library import library

_ASKED: ContextVar[bool] = ContextVar("_ASKED", default=False)


def takes_pairs() -> bool:
    """Whether the processor multiplies pairs of bfloat16, and this process products of our own: those of one thread."""
    kernels = library()
    return kernels is not None and bool(kernels.takes_pairs()) and torch.get_num_threads() == 1


@contextmanager
def products_of_pairs() -> Iterator[None]:
    """Inside, products of our own are of pairs, where there are any; of a pass, both halves if its first is inside."""
    token = _ASKED.set(takes_pairs())
    try:
        yield
    finally:
        _ASKED.reset(token)


def asked_for_pairs() -> bool:
    """Whether this is inside `products_of_pairs`, and there are such products here."""
    return _ASKED.get()
