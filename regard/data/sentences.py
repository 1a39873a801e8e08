"""Sentences as numbers: a form that ignores case, spaces and punctuation, and 64-bit hashes of many sentences."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from functools import cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]

HASH_TYPE = "q"
"""The type code of an `array` of hashes: eight bytes a sentence, where a string takes a hundred."""


SILENCE = 0
"""The number of a sentence without a letter or digit, which has nothing to share."""


def normalized(text: str) -> str:
    """A sentence without case, width, spaces, punctuation and control characters: «Hi , Tom !» is «HI, TOM»."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _unheard().sub("", text.casefold())


@cache
def _unheard() -> re.Pattern[str]:
    """Characters of the Unicode categories P (punctuation), Z (separators), Cc and Cf (controls)."""
    codes = [code for code in range(0x10000) if _silent(unicodedata.category(chr(code)))]
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return re.compile("[" + "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in spans) + "]+")


def _silent(category: str) -> bool:
    return category[0] in "PZ" or category in ("Cc", "Cf")


def sentence_number(text: str) -> int:
    """A 64-bit number for a sentence, on every machine the same, and whatever its case, spaces and punctuation."""
    form = normalized(text)
    return number_of(form) if form else SILENCE


def number_of(text: str) -> int:
    """A 64-bit number for a text, on every machine the same."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def as_numbers(hashes: array[int]) -> Hashes:
    """The array as numpy sees it, without a copy."""
    return np.frombuffer(hashes, dtype=np.int64) if hashes else np.zeros(0, dtype=np.int64)


def repeats(hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a hash occurs again, in order, and where each of them occurred first."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    again = np.zeros(len(hashes), dtype=bool)
    again[1:] = ordered[1:] == ordered[:-1]
    starts = np.where(again, 0, np.arange(len(hashes)))
    np.maximum.accumulate(starts, out=starts)
    where, first = order[again], order[starts[again]]
    in_order = np.argsort(where, kind="stable")
    return where[in_order], first[in_order]
