"""A sample of a run's text: enough to measure on, with an estimate of how much there is in all."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from regard.config import CorpusConfig, DataConfig
from regard.data.corpus import Pair, corpus_files, read_pairs

SAMPLE_PAIRS = 30_000
READING_SECONDS = 3.0
"""How long one corpus is read: the sample of a larger one is drawn from its beginning."""
_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Drawn:
    """Pairs drawn from one corpus, and how many usable ones it has in all."""

    pairs: list[Pair]
    total: int
    complete: bool
    """Whether the corpus was read to its end, so that `total` is no estimate."""


@dataclass(frozen=True)
class Sample:
    """The same corpora, with fewer pairs."""

    corpora: tuple[CorpusConfig, ...]
    pairs: int
    total: int
    """Pairs in the whole corpora, each counted once."""
    complete: bool
    """Whether all was read, so that `total` is no estimate."""
    totals: tuple[int, ...]
    """Those of each corpus."""

    @property
    def whole(self) -> bool:
        """Whether the sample leaves nothing out."""
        return self.complete and self.pairs == self.total


def take_sample(
    corpora: Sequence[CorpusConfig], data: DataConfig, folder: Path, most: int = SAMPLE_PAIRS, seed: int = 0
) -> Sample:
    """Draw up to about `most` pairs, from every corpus in proportion to its size, into files in `folder`."""
    drawn = [draw(corpus, data, most, seed) for corpus in corpora]
    total = sum(part.total for part in drawn)
    sampled, count = [], 0
    for number, (corpus, part) in enumerate(zip(corpora, drawn, strict=True)):
        share = part.pairs[: max(1, round(most * part.total / max(total, most)))]
        path = folder / f"{number}.jsonl"
        write_pairs(path, [(pair.source, pair.target) for pair in share])
        sampled.append(
            CorpusConfig(
                pairs=str(path), format="jsonl", weight=corpus.weight, epochs=corpus.epochs, languages=corpus.languages
            )
        )
        count += len(share)
    return Sample(
        tuple(sampled), count, total, all(part.complete for part in drawn), tuple(part.total for part in drawn)
    )


def write_pairs(path: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write pairs as JSON lines."""
    lines = (json.dumps({"source": source, "target": target}, ensure_ascii=False) for source, target in pairs)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def draw(corpus: CorpusConfig, data: DataConfig, most: int, seed: int, seconds: float = READING_SECONDS) -> Drawn:
    """Up to `most` pairs, each as likely as another among those that were read in the time."""
    generator = random.Random(seed)
    kept: list[Pair] = []
    read, line, until = 0, 1, time.monotonic() + seconds
    for pair in read_pairs(corpus, data):
        read, line = read + 1, pair.line
        if len(kept) < most:
            kept.append(pair)
        elif (place := generator.randrange(read)) < most:
            kept[place] = pair
        if read % 1000 == 0 and time.monotonic() > until:
            generator.shuffle(kept)
            return Drawn(kept, round(count_lines(Path(corpus_files(corpus)[0])) * read / line), False)
    generator.shuffle(kept)
    return Drawn(kept, read, True)


def count_lines(path: Path, seconds: float = READING_SECONDS) -> int:
    """The lines of a file, gzip or not; when time is up, an estimate by the part of it that was read."""
    until = time.monotonic() + seconds
    lines = 0
    with path.open("rb") as raw:
        packed = raw.peek(2).startswith(_GZIP)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            if time.monotonic() > until:
                return round(lines * path.stat().st_size / raw.tell())
    return lines
