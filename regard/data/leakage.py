"""Leakage: sentences of held-out sets (validation, test) that occur in training text, and where."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.config import CorpusConfig, DataConfig
from regard.data.faults import Fault
from regard.data.lines import raw_lines
from regard.data.records import corpus_files, format_by_name, read_records
from regard.data.sentences import HASH_TYPE, SILENCE, Hashes, as_numbers, sentence_number
from regard.errors import CorpusError


@dataclass(frozen=True)
class HeldOutFile:
    """The sentences of one side of a held-out set, in order, as hashes; `side` 0: source, 1: target, None: either."""

    name: str
    side: int | None
    hashes: Hashes


@dataclass(frozen=True)
class Leakage:
    """How many sentences of a held-out file occur in the training text."""

    file: str
    side: str | None
    sentences: int
    seen: int


def read_held_out(held_out: CorpusConfig | str | Path, data: DataConfig) -> list[HeldOutFile]:
    """A held-out set as hashes: both sides of a corpus, or a plain file, compared with either side.

    Of a corpus in which nothing can be read, there is nothing to compare; that is an error.
    """
    if not isinstance(held_out, CorpusConfig):
        if not format_by_name(str(held_out)):
            return [HeldOutFile(str(held_out), None, _plain_file(held_out))]
        held_out = CorpusConfig(pairs=str(held_out))
    sides = (array(HASH_TYPE), array(HASH_TYPE))
    fault: Fault | None = None
    readable = 0
    for record in read_records(held_out, data):
        sides[0].append(sentence_number(record.source))
        sides[1].append(sentence_number(record.target))
        readable += bool(record.source or record.target)
        fault = fault or next(iter(record.faults), None)
    files = corpus_files(held_out)
    if not sides[0]:
        raise CorpusError(f"{files[0]}: empty, nothing to compare with; check the path")
    if not readable and fault is not None:
        raise CorpusError(f"{fault}; no line can be read, so there is nothing to compare with")
    one_pair = len(data.pairs) == 1  # of several, what is a source here may be a target there
    return [HeldOutFile(files[side], side if one_pair else None, as_numbers(sides[side])) for side in (0, 1)]


def _plain_file(path: str | Path) -> Hashes:
    hashes = array(HASH_TYPE)
    for raw in raw_lines(path):
        hashes.append(sentence_number((raw or b"").decode("utf-8", errors="replace")))
    if not hashes:
        raise CorpusError(f"{path}: empty, nothing to compare with; check the path")
    return as_numbers(hashes)


class HeldOutIndex:
    """Finds training sentences of one side among held-out files, and remembers which of those were seen."""

    def __init__(self, files: Sequence[HeldOutFile], side: int) -> None:
        self._files = [file for file in files if file.side in (side, None)]
        self._starts = np.cumsum([0, *(len(file.hashes) for file in self._files)])
        hashes = np.concatenate([as_numbers(array(HASH_TYPE)), *(file.hashes for file in self._files)])
        order = np.argsort(hashes, kind="stable")
        self._order = order[hashes[order] != SILENCE]
        self._sorted = hashes[self._order]
        self._seen = np.zeros(len(self._sorted), dtype=bool)

    def find(self, hashes: Hashes) -> NDArray[np.int64]:
        """For each training sentence, the number of a held-out one that equals it, or -1."""
        if not len(self._sorted):
            return np.full(len(hashes), -1)
        places = np.searchsorted(self._sorted, hashes)
        places[places == len(self._sorted)] = 0
        found = self._sorted[places] == hashes
        self._seen[places[found]] = True
        return np.where(found, self._order[places], -1)

    def place(self, number: int) -> str:
        """`test.en:17`, for a number that `find` gave."""
        file = int(np.searchsorted(self._starts, number, side="right")) - 1
        return f"{self._files[file].name}:{number - int(self._starts[file]) + 1}"

    def seen(self) -> list[tuple[HeldOutFile, NDArray[np.bool_]]]:
        """Each file, and which of its sentences were found."""
        # `find` marks the first of equal sentences; its mark holds for all of them
        marks = np.zeros(int(self._starts[-1]), dtype=bool)
        marks[self._order] = self._seen[np.searchsorted(self._sorted, self._sorted)]
        spans = zip(self._starts[:-1], self._starts[1:], strict=True)
        return [(file, marks[start:end]) for file, (start, end) in zip(self._files, spans, strict=True)]


def summarize(files: Sequence[HeldOutFile], indexes: Sequence[HeldOutIndex]) -> list[Leakage]:
    """For each held-out file, how many of its sentences some index has found."""
    found = [entry for index in indexes for entry in index.seen()]
    result = []
    for file in files:
        marks = [marks for other, marks in found if other is file]
        side = None if file.side is None else ("source", "target")[file.side]
        result.append(Leakage(file.name, side, len(file.hashes), int(np.logical_or.reduce(marks).sum())))
    return result
