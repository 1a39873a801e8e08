"""Batches by token budget: for training in an order that is a function of (seed, epoch), for validation a fixed one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.config import Config, CorpusConfig, DataConfig
from regard.data.batch import Batch, batch_of, collate, cut_into_batches
from regard.data.corpus import read_pairs
from regard.data.pools import Pool, PoolMaker, PoolWork
from regard.data.prefetch import Stopped, prefetched
from regard.data.prepared import PreparedCorpus, tokenizers_for
from regard.data.ragged import Ragged
from regard.data.tokenizer import Tokenizers
from regard.errors import RegardError

__all__ = ["START", "Batch", "FixedBatches", "Position", "TrainingBatches", "collate", "padding"]

PREFETCHED_BATCHES = 8


@dataclass(frozen=True)
class Position:
    """A place between two batches of an epoch: the next is number `batch` of pool number `pool`."""

    pool: int = 0
    batch: int = 0

    def to_json(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Position:
        """What `to_json` wrote; RegardError if it is anything else."""
        pool, batch = values.get("pool"), values.get("batch")
        if not (type(pool) is type(batch) is int and min(pool, batch) >= 0):
            raise RegardError(f"no position in an epoch: {dict(values)!r}; it has two counts, `pool` and `batch`")
        return cls(pool, batch)


START = Position()


class TrainingBatches:
    """The batches of every epoch, made in the background a little ahead of their use.

    With `world` processes, number `rank` of them gets every `world`-th batch of the same sequence that one process
    would get, so that one step of all is `world` batches in a row. Where the last batches are fewer than `world`, the
    other processes get one without targets: every process takes as many steps as every other.

    With `parts`, each batch is cut into as many parts of nearly equal rows, and this process gets number `part`. With
    `pinned`, batches lie in page-locked memory, for a GPU.
    """

    def __init__(
        self,
        prepared: PreparedCorpus,
        tokenizers: Tokenizers,
        config: Config,
        *,
        rank: int = 0,
        world: int = 1,
        part: int = 0,
        parts: int = 1,
        pinned: bool = False,
    ) -> None:
        self._maker = PoolMaker(prepared, tokenizers, config)
        self._rank, self._world = rank, world
        self._part, self._parts = part, parts
        self._pinned = pinned
        self._ahead: PoolWork | None = None

    def epoch(self, epoch: int, start: Position = START) -> Iterator[tuple[Batch, Position]]:
        """The batches of an epoch from `start` on, each with the position after it.

        Starting again at such a position gives exactly the batches that were left; pools before it cost nothing.
        Close the iterator (or use it up) to end its thread.
        """
        return prefetched(lambda stopped: self._batches(epoch, start, stopped), PREFETCHED_BATCHES)

    def _batches(self, epoch: int, start: Position, stopped: Stopped) -> Iterator[tuple[Batch, Position]]:
        group: list[tuple[Pool, int]] = []
        after = start
        for pool, place, after in self._places(epoch, start, stopped):
            group.append((pool, place))
            if len(group) == self._world:
                yield self._mine(group), after
                group = []
        if group:
            yield self._mine(group), after

    def _mine(self, group: list[tuple[Pool, int]]) -> Batch:
        """This process's batch of a group; one that teaches nothing where the end of an epoch has none for it."""
        pool, place = group[min(self._rank, len(group) - 1)]
        batch = pool.batch(place)
        batch = batch.part(self._part, self._parts) if self._rank < len(group) else batch.without_targets()
        return batch.pin() if self._pinned else batch

    def _places(self, epoch: int, start: Position, stopped: Stopped) -> Iterator[tuple[Pool, int, Position]]:
        """Every batch of the epoch as (pool, its place in it, the position after it)."""
        count = self._maker.count(epoch)
        if start.pool >= count:
            return
        work = self._begun(epoch, start.pool)
        for number in range(start.pool, count):
            while not work.complete:
                if stopped():
                    return
                work.step()
            pool = work.pool()
            work = self._begun(epoch, number + 1) if number + 1 < count else self._begun(epoch + 1, 0)
            total = len(pool.batches)
            for place in range(start.batch if number == start.pool else 0, total):
                after = Position(number, place + 1) if place + 1 < total else Position(number + 1, 0)
                yield pool, place, after
                work.advance((place + 1) / total)
        self._ahead = work

    def _begun(self, epoch: int, number: int) -> PoolWork:
        """The pool that was worked on at the end of the epoch before, if it is this one, or else a new one."""
        ahead, self._ahead = self._ahead, None
        return ahead if ahead and ahead.key == (epoch, number) else self._maker.begin(epoch, number)


class FixedBatches:
    """Pairs in batches of similar length, the same each time: for validation."""

    def __init__(
        self, source: Ragged, target: Ragged, batch_tokens: int, texts: tuple[Sequence[str], Sequence[str]] = ((), ())
    ) -> None:
        self._source, self._target = source, target
        self.source_texts, self.target_texts = texts
        self._batches = cut_into_batches(np.diff(source.offsets) + 1, np.diff(target.offsets) + 1, batch_tokens)

    @classmethod
    def read(
        cls, corpora: Sequence[CorpusConfig], data: DataConfig, tokenizers: Tokenizers, batch_tokens: int
    ) -> FixedBatches:
        """Read and encode corpora into memory; their texts are kept in the order of the files."""
        sources: list[str] = []
        targets: list[str] = []
        source_ids: list[list[int]] = []
        target_ids: list[list[int]] = []
        for corpus in corpora:
            own = tokenizers_for(corpus, data, tokenizers)
            pairs = list(read_pairs(corpus, data, None))
            sources += (some := [pair.source for pair in pairs])
            source_ids += own.source.encode_batch(some)
            targets += (some := [pair.target for pair in pairs])
            target_ids += own.target.encode_batch(some)
        return cls(Ragged.from_rows(source_ids), Ragged.from_rows(target_ids), batch_tokens, (sources, targets))

    @classmethod
    def of(cls, prepared: PreparedCorpus, batch_tokens: int) -> FixedBatches:
        """All pairs of a prepared corpus."""
        return cls(prepared.source, prepared.target, batch_tokens)

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def pairs(self) -> int:
        return len(self._source)

    @property
    def longest(self) -> int:
        """The tokens of the longest sentence, of either side, without its mark."""
        return max(int(np.diff(side.offsets).max(initial=0)) for side in (self._source, self._target))

    def __iter__(self) -> Iterator[Batch]:
        for rows in self._batches:
            yield batch_of(self._source, self._target, rows, rows)


def padding(batches: Iterable[Batch]) -> float:
    """The share of places in these batches, source and target together, that hold padding."""
    real = cells = 0
    for batch in batches:
        real += batch.source_tokens + batch.tokens
        cells += batch.cells
    return 1 - real / cells if cells else 0.0
