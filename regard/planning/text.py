"""The text of a run, seen through a sample: its vocabulary, the batches of an epoch, the longest pair."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.config import Config, CorpusConfig
from regard.data.pools import Pool, PoolMaker
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers
from regard.models.teachers import check_teachers
from regard.pipeline import learn_tokenizers
from regard.planning.facts import Epoch
from regard.planning.sample import Sample, take_sample
from regard.progress import task


@dataclass(frozen=True)
class Text:
    """A sample of the training text, tokenized, in a folder."""

    sample: Sample
    tokenizers: Tokenizers
    vocabulary_from: str
    prepared: PreparedCorpus
    home: Path
    """Where it is prepared."""
    seconds: float
    """What learning the vocabulary and preparing took."""

    @property
    def factor(self) -> float:
        """How many times as large the whole is."""
        return self.sample.total / self.sample.pairs

    def longest_pair(self) -> tuple[str, str]:
        """The pair with the longest side and, of several, the longest other side."""
        source, target = (np.diff(side.offsets) for side in (self.prepared.source, self.prepared.target))
        place = int(np.lexsort((source + target, np.maximum(source, target)))[-1])
        return self.prepared.source_texts([place])[0], self.prepared.target_texts([place])[0]

    def epoch(self, config: Config) -> Epoch:
        """The first epoch of the sample, cut into batches as a run would."""
        maker = PoolMaker(self.prepared, self.tokenizers, with_corpora(config, self.sample.corpora))
        pools = [_made(maker, number) for number in range(maker.count(0))]
        pairs = sum(len(pool.indices) for pool in pools)
        sides = [[getattr(pool, side) for pool in pools] for side in ("source", "target")]
        source, target = (sum(len(rows.values) for rows in side) + pairs for side in sides)
        longest = max(int(np.diff(rows.offsets).max()) + 1 for side in sides for rows in side)
        return Epoch(pairs, sum(len(pool.batches) for pool in pools), source, target, longest)


def look_at_text(config: Config, run: Path, folder: Path) -> Text:
    """Draw a sample into `folder`, and tokenize it as the run in `run` does or would."""
    check_teachers(config, run)
    (folder / "sample").mkdir()
    with task("reading a sample of the text"):
        sample = take_sample(config.data.train, config.data, folder / "sample", seed=config.seed)
    started = time.monotonic()
    if Tokenizers.exist(run):
        tokenizers, origin = Tokenizers.load(run), f"of {run}"
    elif model := config.vocabulary_of:
        tokenizers, origin = learn_tokenizers(config), f"of {model}"
    else:
        tokenizers = learn_tokenizers(with_corpora(config, sample.corpora))
        origin = "learned from all the text" if sample.whole else f"learned from {sample.pairs:,} pairs"
    home = folder / "prepared"
    prepared = PreparedCorpus.build(home, sample.corpora, config.data, tokenizers)
    return Text(sample, tokenizers, origin, prepared, home, time.monotonic() - started)


def with_corpora(config: Config, train: tuple[CorpusConfig, ...], validation: tuple[CorpusConfig, ...] = ()) -> Config:
    """The same configuration over other text."""
    return config.model_copy(update={"data": config.data.model_copy(update={"train": train, "validation": validation})})


def _made(maker: PoolMaker, number: int) -> Pool:
    work = maker.begin(0, number)
    work.advance(1.0)
    return work.pool()
