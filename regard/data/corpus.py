"""Bilingual text as checked, aligned pairs: two plain files, TSV or JSON lines, under the policy for bad lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.config import CorpusConfig, DataConfig
from regard.data.faults import CAUSES, Fault, Faults
from regard.data.lines import read_lines
from regard.data.records import Record, UnequalLinesError, corpus_files, read_records
from regard.errors import CorpusError

__all__ = ["CAUSES", "Fault", "Faults", "Pair", "UnequalLinesError", "corpus_files", "read_lines", "read_pairs"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, the line they stand on (from 1), and the file (the source's, where two)."""

    source: str
    target: str
    line: int
    origin: str


def read_pairs(corpus: CorpusConfig, data: DataConfig, faults: Faults | None = None) -> Iterator[Pair]:
    """The usable pairs of a corpus in order; what is left out is counted in `faults`.

    A pair that cannot be used is an error or is left out, as `data.on_bad_line` says; either way the others keep their
    partners. Files of unequal length, and a corpus without one usable pair, are always an error. A file that cannot
    be opened is an error at the call, everything else while reading.
    """
    records = read_records(corpus, data)
    return _usable(records, corpus, data, faults if faults is not None else Faults())


def _usable(records: Iterator[Record], corpus: CorpusConfig, data: DataConfig, faults: Faults) -> Iterator[Pair]:
    origin = corpus_files(corpus)[0]
    here = Faults(keep=1)
    for record in records:
        if not record.faults:
            here.pairs += 1
            faults.pairs += 1
            yield Pair(record.source, record.target, record.line, origin)
            continue
        if data.on_bad_line == "error":
            _refuse(record.faults[0], records)
        here.skip(record.faults)
        faults.skip(record.faults)
    if not here.pairs:
        raise CorpusError(_nothing_usable(corpus, here))


def _refuse(fault: Fault, rest: Iterator[Record]) -> None:
    """Raise for a bad line; but where the files are of unequal length, that is what the user must hear of."""
    for _ in rest:
        pass
    raise CorpusError(f'{fault}; mend the line, or set data.on_bad_line = "skip" to leave such pairs out')


def _nothing_usable(corpus: CorpusConfig, faults: Faults) -> str:
    files = " and ".join(dict.fromkeys(corpus_files(corpus)))
    if not faults.skipped:
        return f"{files}: empty, no pair to learn from or to measure on; check the path"
    return f"{files}: no usable pair; {faults}"
