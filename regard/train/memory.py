"""Telling the C library to keep freed memory, for a training step asks for the same blocks again and again."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGE = 1 << 30


def keep_freed_memory() -> bool:
    """Stop glibc from giving memory back after every large block; True where that could be asked."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(
        mallopt(option, value) == 1
        for option, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _LARGE), (_M_TOP_PAD, 64 << 20))
    )
