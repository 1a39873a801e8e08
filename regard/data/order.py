"""The order of training pairs: pseudo-random permutations that are computed, not stored.

A Feistel network turns any keyed function into a bijection on 2h-bit numbers; numbers that fall outside the wanted
range are sent through it again until they fall inside ("cycle walking"), which keeps it a bijection on that range.
Ten million pairs are so shuffled without a table of ten million places, the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROUNDS = 8
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def permutation(positions: NDArray[np.int64], size: int, *seed: int) -> NDArray[np.int64]:
    """What stands at these positions of a shuffled range(size); `seed` says of which shuffle.

    `positions` must lie in range(size). Over all positions, every number of the range comes exactly once.
    """
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)  # 2 * half_bits bits hold every number below size
    keys = [np.uint64(mix(*seed, round_number)) for round_number in range(ROUNDS)]
    values = _feistel(positions.astype(np.uint64), half_bits, keys)
    outside = np.flatnonzero(values >= size)
    while len(outside):
        values[outside] = _feistel(values[outside], half_bits, keys)
        outside = outside[values[outside] >= size]
    return values.astype(np.int64)


def shuffled(size: int, *seed: int) -> NDArray[np.int64]:
    """All of range(size) in the order of `permutation`."""
    return permutation(np.arange(size, dtype=np.int64), size, *seed)


def mix(*words: int) -> int:
    """64 well-mixed bits out of any number of non-negative integers of any size; their order counts."""
    state = len(words)
    for word in words:
        while True:
            state = _finish_int((state + (word & _WORD) + _GOLDEN) & _WORD)
            word >>= 64
            if not word:
                break
    return state


def _feistel(values: NDArray[np.uint64], half_bits: int, keys: list[np.uint64]) -> NDArray[np.uint64]:
    shift, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (_finish(right + key) & mask)
    return (left << shift) | right


def _finish(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finishing step of the SplitMix64 generator: every bit of the input moves every bit of the output."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _finish_int(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _WORD
    return state ^ (state >> 31)
