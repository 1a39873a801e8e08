"""Dropout whose masks are a function of a key such as (seed, step), never of a global random state."""

from __future__ import annotations

import torch
from torch import Tensor, nn

POOL_ELEMENTS = 1 << 22
"""Masks are windows of a pool of random elements: reading one costs a tenth of drawing it anew."""

_MASK64 = (1 << 64) - 1


def mix(*parts: int) -> int:
    """A 64-bit number that depends on every bit of every part (SplitMix64, chained)."""
    state = 0x9E3779B97F4A7C15
    for part in parts:
        state = (state ^ (part & _MASK64)) * 0xBF58476D1CE4E5B9 & _MASK64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _MASK64
        state ^= state >> 31
    return state


class Randomness:
    """Where all dropout of a model draws its masks; `begin` is called with a new key before each forward pass."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._share = 1.0
        self._key: tuple[int, ...] = (seed,)
        self._drawn = 0
        self._first_row = 0
        self._rows_in_all: int | None = None
        self._pools: dict[tuple[float, torch.device, torch.dtype], Tensor] = {}

    @property
    def share(self) -> float:
        """The part of its probability that every dropout has at present."""
        return self._share

    @share.setter
    def share(self, share: float) -> None:
        if share != self._share:
            self._share = share
            self._pools.clear()  # those of other probabilities are not needed again

    def begin(self, *key: int, first_row: int = 0, rows_in_all: int | None = None) -> None:
        """Start the masks of one forward pass: the same key gives the same masks.

        Where the pass is over a part of a batch, from `first_row` of `rows_in_all` on, its masks are that part of those
        that the whole batch would get.
        """
        self._key = (self._seed, *key)
        self._drawn = 0
        self._first_row, self._rows_in_all = first_row, rows_in_all

    def mask(
        self, shape: torch.Size, probability: float, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """A mask of `shape` [rows, ...]: zero with `probability`, else 1 / (1 - probability).

        It is drawn on the device that it is for; one kind of device may draw others than another does.
        """
        self._drawn += 1
        number = mix(*self._key, self._drawn)
        elements = shape.numel()
        in_a_row = elements // max(1, shape[0])
        before, in_all = self._first_row * in_a_row, in_a_row * (self._rows_in_all or shape[0])
        if in_all > POOL_ELEMENTS // 2:
            return _draw(in_all, probability, number, device, dtype)[before : before + elements].view(shape)
        offset = number % (POOL_ELEMENTS - in_all + 1) + before
        return self._pool(probability, device, dtype)[offset : offset + elements].view(shape)

    def _pool(self, probability: float, device: torch.device, dtype: torch.dtype) -> Tensor:
        pool = self._pools.get((probability, device, dtype))
        if pool is None:
            number = mix(self._seed, round(probability * 1e9))
            pool = _draw(POOL_ELEMENTS, probability, number, device, dtype)
            self._pools[probability, device, dtype] = pool
        return pool


def _draw(elements: int, probability: float, seed: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator(device).manual_seed(seed)
    kept = torch.rand(elements, generator=generator, device=device) >= probability
    return kept.to(dtype).mul_(1 / (1 - probability))


class Dropout(nn.Module):
    """Zero elements at random while training, and scale the rest so that the mean stays."""

    def __init__(self, probability: float, randomness: Randomness) -> None:
        super().__init__()
        self.probability = probability
        self.randomness = randomness

    @property
    def active(self) -> bool:
        return self.training and self.probability * self.randomness.share > 0

    def mask(self, x: Tensor) -> Tensor | None:
        """The factors for the elements of x, of its type; None where all stay as they are."""
        probability = self.probability * self.randomness.share
        return self.randomness.mask(x.shape, probability, x.device, x.dtype) if self.active else None

    def forward(self, x: Tensor) -> Tensor:
        mask = self.mask(x)
        return x if mask is None else x * mask

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y), in one pass over memory."""
        mask = self.mask(y)
        return x + y if mask is None else torch.addcmul(x, y, mask)

    def extra_repr(self) -> str:
        return str(self.probability)
