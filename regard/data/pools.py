"""Pools: the parts of an epoch that are encoded, sorted by length and cut into batches at one time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regard.config import Config
from regard.data.batch import Batch, batch_of, cut_into_batches
from regard.data.dropout_encoder import DropoutEncoder
from regard.data.order import permutation, shuffled
from regard.data.prepared import PreparedCorpus
from regard.data.ragged import Ragged, Rows
from regard.data.tokenizer import Tokenizers
from regard.errors import CorpusError

POOL_PAIRS = 100_000
DROPOUT_POOL_PAIRS = 30_000  # encoding anew takes time, and nobody wants to wait for the first batch
OWN_PROCESS_PAIRS = 5_000  # fewer are encoded before a process has started
CHUNK_PAIRS = 4_000
_PAIRS, _PARTS, _BATCHES = 1, 2, 3  # which shuffle a seed is for


@dataclass(frozen=True)
class EpochOrder:
    """Which pairs an epoch takes, and in what order: a function of (seed, epoch), computed where it is needed.

    Weight 2.5 takes each pair of a corpus twice, and half of the pairs once more: the other half in the next epoch.
    Weight 0 takes none.
    """

    sizes: tuple[int, ...]  # pairs in each corpus
    weights: tuple[float, ...]
    seed: int
    epoch: int

    def __len__(self) -> int:
        return sum(self._taken(corpus) for corpus in range(len(self.sizes)))

    def pairs(self, start: int, stop: int) -> Rows:
        """The indices of the pairs at places start to stop of the epoch."""
        places = permutation(np.arange(start, stop, dtype=np.int64), len(self), self.seed, _PAIRS, self.epoch)
        indices = np.empty_like(places)
        first_place = first_pair = 0
        for corpus, size in enumerate(self.sizes):
            taken = self._taken(corpus)
            inside = (places >= first_place) & (places < first_place + taken)
            indices[inside] = first_pair + self._of_corpus(corpus, places[inside] - first_place)
            first_place, first_pair = first_place + taken, first_pair + size
        return indices

    def _of_corpus(self, corpus: int, places: Rows) -> Rows:
        size = self.sizes[corpus]
        whole = math.floor(self.weights[corpus]) * size
        pairs = places % max(size, 1)
        partly = places >= whole
        window = (places[partly] - whole + self._part(corpus, self.epoch)) % max(size, 1)
        pairs[partly] = permutation(window, size, self.seed, _PARTS, corpus)
        return pairs

    def _taken(self, corpus: int) -> int:
        part = self._part(corpus, self.epoch + 1) - self._part(corpus, self.epoch)
        return math.floor(self.weights[corpus]) * self.sizes[corpus] + part

    def _part(self, corpus: int, epoch: int) -> int:
        """How many pairs all epochs before this one took for the fraction of the weight."""
        return math.floor(epoch * (self.weights[corpus] % 1) * self.sizes[corpus])


@dataclass(frozen=True)
class Pool:
    """Encoded pairs and the batches made of them, in the order of their use."""

    source: Ragged
    target: Ragged
    indices: Rows
    batches: list[Rows]

    def batch(self, place: int) -> Batch:
        rows = self.batches[place]
        return batch_of(self.source, self.target, rows, self.indices[rows])


class PoolMaker:
    """Knows how to make every pool of every epoch."""

    def __init__(self, prepared: PreparedCorpus, tokenizers: Tokenizers, config: Config) -> None:
        corpora = len(config.data.train)
        if corpora != len(prepared.corpus_sizes):
            raise CorpusError(
                f"{prepared.folder}: prepared from {len(prepared.corpus_sizes)} corpora, but data.train names "
                f"{corpora}; delete the folder, and it will be prepared anew"
            )
        self.prepared, self.config = prepared, config
        dropout = config.tokenizer.dropout
        large = len(prepared) >= OWN_PROCESS_PAIRS
        self.encoder = DropoutEncoder(tokenizers, dropout, own_process=large) if dropout else None
        self._pool_pairs = DROPOUT_POOL_PAIRS if dropout else POOL_PAIRS

    def count(self, epoch: int) -> int:
        """How many pools an epoch has."""
        return math.ceil(len(self._order(epoch)) / self._pool_pairs)

    def begin(self, epoch: int, number: int) -> PoolWork:
        """Start on one pool; the pairs of an epoch are shared out evenly among its pools."""
        order, count = self._order(epoch), self.count(epoch)
        start, stop = (len(order) * edge // max(count, 1) for edge in (number, number + 1))
        return PoolWork(self, epoch, number, order.pairs(start, stop))

    def _order(self, epoch: int) -> EpochOrder:
        weights = (
            0.0 if corpus.epochs is not None and epoch >= corpus.epochs else corpus.weight
            for corpus in self.config.data.train
        )
        return EpochOrder(self.prepared.corpus_sizes, tuple(weights), self.config.seed, epoch)


class PoolWork:
    """A pool in the making, in small steps, so that it can be made while the one before is used."""

    def __init__(self, maker: PoolMaker, epoch: int, number: int, pairs: Rows) -> None:
        self.key = (epoch, number)
        self._maker = maker
        # Read in the order of the files: neighbours share pages. Where a pair stood in the shuffle decides ties.
        self._ties = np.argsort(pairs, kind="stable")
        self._indices = pairs[self._ties]
        self._chunks = [self._indices[at : at + CHUNK_PAIRS] for at in range(0, len(pairs), CHUNK_PAIRS)]
        self._parts: list[tuple[Ragged, Ragged]] = []

    @property
    def complete(self) -> bool:
        return len(self._parts) == len(self._chunks)

    def step(self) -> None:
        """Encode one chunk more."""
        chunk = self._chunks[len(self._parts)]
        prepared = self._maker.prepared
        plain = prepared.source.take(chunk), prepared.target.take(chunk)
        encoder = self._maker.encoder
        self._parts.append(self._dropped_out(encoder, chunk, plain) if encoder else plain)
        prepared.release()

    def advance(self, share: float) -> None:
        """Encode until this share of the pool is done."""
        while len(self._parts) < share * len(self._chunks) and not self.complete:
            self.step()

    def pool(self) -> Pool:
        """The complete pool."""
        source, target = (Ragged.joined(side) for side in zip(*self._parts, strict=True))
        lengths = np.diff(source.offsets) + 1, np.diff(target.offsets) + 1
        config = self._maker.config
        batches = cut_into_batches(lengths[0], lengths[1], config.train.batch_tokens, self._ties)
        order = shuffled(len(batches), config.seed, _BATCHES, *self.key)
        return Pool(source, target, self._indices, [batches[place] for place in order])

    def _dropped_out(self, encoder: DropoutEncoder, chunk: Rows, plain: tuple[Ragged, Ragged]) -> tuple[Ragged, Ragged]:
        """Token ids with merges left out; a sentence that this makes longer than data.max_tokens is taken plain."""
        prepared, config = self._maker.prepared, self._maker.config
        seed = (config.seed, *self.key, len(self._parts))
        source, target = plain
        limit, side = config.data.max_tokens, config.tokenizer.dropout_side
        if side != "target":
            source = encoder.encode(0, prepared.source_texts(chunk), (*seed, 0))
            source = source.begun_as(plain[0]) if config.data.tags else source
        if side != "source":
            target = encoder.encode(1, prepared.target_texts(chunk), (*seed, 1))
        return source.where_longer(limit, plain[0]), target.where_longer(limit, plain[1])
