"""Rows of different lengths, end to end in one flat array: tokens and text, in memory or mapped from files."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
OFFSETS = "<i8"


@dataclass(frozen=True)
class Ragged:
    """Row i is values[offsets[i] : offsets[i + 1]]."""

    values: NDArray[Any]
    offsets: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]], dtype: str = OFFSETS) -> Ragged:
        """Lists of token ids, laid end to end."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.dtype(dtype), count=int(offsets[-1]))
        return cls(flat, offsets)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of all parts, one part after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.concatenate([part.values for part in parts]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[Any]:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self, rows: Rows) -> NDArray[np.int64]:
        return self.offsets[rows + 1] - self.offsets[rows]

    def take(self, rows: Rows) -> Ragged:
        """These rows, copied into memory."""
        lengths = self.lengths(rows)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Value k of the copy lies as far from its row's start as in the original.
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(self.values[places], offsets)

    def where_longer(self, limit: int, other: Ragged) -> Ragged:
        """The same rows, but those longer than `limit` are taken from `other`."""
        longer = np.diff(self.offsets) > limit
        if not longer.any():
            return self
        both = Ragged.joined([self, other])
        return both.take(np.arange(len(self)) + len(self) * longer)

    def begun_as(self, other: Ragged) -> Ragged:
        """The same rows, each with the first value of the other's row before it."""
        lengths = np.diff(self.offsets)
        offsets = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(lengths + 1, out=offsets[1:])
        values = np.empty(len(self.values) + len(self), dtype=self.values.dtype)
        values[offsets[:-1]] = other.values[other.offsets[:-1]]
        values[np.arange(len(self.values)) + np.repeat(np.arange(1, len(self) + 1), lengths)] = self.values
        return Ragged(values, offsets)

    def padded(self, rows: Rows, width: int, fill: int) -> NDArray[np.int64]:
        """These rows as a matrix [len(rows), width], filled up at the end; width is at least their longest."""
        columns = np.arange(width)
        inside = columns < self.lengths(rows)[:, None]
        matrix = np.full((len(rows), width), fill, dtype=np.int64)
        matrix[inside] = self.values[(self.offsets[rows][:, None] + columns)[inside]]
        return matrix


class RaggedWriter:
    """Writes rows to two files, `name.values` and `name.offsets`, as they come; memory does not grow with them."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._end = 0
        with ExitStack() as stack:
            self._values = stack.enter_context((folder / f"{name}.values").open("wb"))
            self._offsets = stack.enter_context((folder / f"{name}.offsets").open("wb"))
            self._files = stack.pop_all()
        self._offsets.write(np.zeros(1, dtype=OFFSETS).tobytes())

    def write_rows(self, rows: Sequence[Sequence[int]]) -> None:
        """Append rows of token ids."""
        flat = Ragged.from_rows(rows, self._dtype.str)
        self._append(flat.values.tobytes(), np.diff(flat.offsets))

    def write_texts(self, texts: Iterable[str]) -> None:
        """Append rows of UTF-8."""
        rows = [text.encode() for text in texts]
        self._append(b"".join(rows), np.array([len(row) for row in rows], dtype=np.int64))

    def _append(self, values: bytes, lengths: NDArray[np.int64]) -> None:
        self._values.write(values)
        self._offsets.write((self._end + np.cumsum(lengths)).astype(OFFSETS).tobytes())
        self._end += int(lengths.sum())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()


class RaggedFiles:
    """What a RaggedWriter wrote, mapped into memory: only the pages that are looked at are read."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self._maps: list[mmap.mmap] = []
        self.rows = Ragged(self._map(folder / f"{name}.values", dtype), self._map(folder / f"{name}.offsets", OFFSETS))

    def _map(self, path: Path, dtype: str) -> NDArray[Any]:
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.empty(0, dtype=np.dtype(dtype))
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype=np.dtype(dtype))

    def release(self) -> None:
        """Let go of the pages looked at so far, so that a long run does not slowly come to hold the whole file."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)
