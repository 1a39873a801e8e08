"""In which form products in C take their factors: as they are, or rounded to bfloat16; in vectors, or in tiles (AMX).

What leaves a product is float32 in every form.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from functools import cache
from threading import Lock

import torch

from regard.native.library import library


class Form(IntEnum):
    """As in multiply.h."""

    FLOATS = 0
    """fp32 in vectors."""
    PAIRS = 1
    """Rounded to bfloat16, two terms side by side in vectors: pairs.h."""
    TILES = 2
    """fp32 in tiles, at least as exact as in vectors: tiles.h."""
    ROUNDED_TILES = 3
    """Rounded to bfloat16, in tiles."""


SWITCH = "REGARD_TILES"
"""The variable that leaves a processor's tiles unused when it is 0."""
_BF16: ContextVar[bool] = ContextVar("_BF16", default=False)


def form_of_products() -> Form:
    """In which form products are made here and now."""
    wide, narrow = _forms()
    return narrow if narrow is not None and _BF16.get() else wide


def form_of_bf16() -> Form | None:
    """In which form products of our own take bfloat16, where they do: those of one thread, if the processor can."""
    return _forms()[1] if torch.get_num_threads() == 1 else None


def takes_bf16() -> bool:
    """Whether the processor multiplies bfloat16, and this process has products of our own."""
    return form_of_bf16() is not None


@contextmanager
def products_in_bf16() -> Iterator[None]:
    """Inside, products of our own are of bfloat16, where there are any; of a pass, both halves if its first is."""
    token = _BF16.set(takes_bf16())
    try:
        yield
    finally:
        _BF16.reset(token)


def asked_for_bf16() -> bool:
    """Whether this is inside `products_in_bf16`, and there are such products here."""
    return _BF16.get()


_asking = Lock()


@cache
def _forms() -> tuple[Form, Form | None]:
    """The forms of fp32 and of bf16; the latter is None where there is none."""
    kernels = library()
    if kernels is None or not kernels.multiplies_fast():
        return Form.FLOATS, None
    with _asking:
        if os.environ.get(SWITCH) != "0" and kernels.takes_tiles():
            return Form.TILES, Form.ROUNDED_TILES
    return Form.FLOATS, Form.PAIRS if kernels.takes_pairs() else None
