"""What teachers say of every token of a text, asked once before training and kept on the disk.

Teachers do not change, and say the same of a pair in every epoch. With `train.teacher_tokens = K`, each token's K
likeliest are kept with their probabilities, and what is left of the probability counts as spread evenly over all
tokens. Pairs are asked about in blocks, each a file that appears whole or not at all, and several processes take
blocks in turn: whoever is interrupted goes on with the blocks that are missing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.atomic import explained, make_folder, remove_folder, sweep, write_file
from regard.config import Config
from regard.data.batch import Batch, batch_of, cut_into_batches
from regard.data.prepared import PreparedCorpus
from regard.data.ragged import Ragged, Rows
from regard.errors import RegardError
from regard.models.contract import SequenceToSequence
from regard.models.teachers import files_of_teachers
from regard.progress import task
from regard.train.teacher_forcing import features_at, real_tokens
from regard.train.teaching import Likeliest, MeanLogits, last_layers
from regard.train.team import Team

SAID = "said"
"""The folder of what was said in that of a run."""
LAYOUT = 2
BLOCK_PAIRS = 1024
CHUNK_TOKENS = 256
Records = NDArray[np.void]
"""[rows] of what is kept of each token and end mark: `tokens` and `probabilities`, [K] each."""


def record_of(config: Config, vocabulary: int) -> np.dtype[Any]:
    """How what is kept of a token lies on the disk."""
    kept = min(config.train.teacher_tokens, vocabulary)
    token = "<u2" if vocabulary <= 1 << 16 else "<u4"
    return np.dtype([("tokens", token, (kept,)), ("probabilities", "<f2", (kept,))])


@dataclass(frozen=True)
class _Blocks:
    """Where what is said of each pair stands: in block number `pair // BLOCK_PAIRS`, pair after pair."""

    folder: Path
    starts: NDArray[np.int64]
    """[pairs + 1] the tokens and end marks of the pairs before each."""
    record: np.dtype[Any]

    @classmethod
    def of(cls, folder: Path, targets: Ragged, record: np.dtype[Any]) -> _Blocks:
        return cls(folder, targets.offsets + np.arange(len(targets) + 1), record)

    def __len__(self) -> int:
        return -(-(len(self.starts) - 1) // BLOCK_PAIRS)

    def pairs(self, number: int) -> Rows:
        return np.arange(number * BLOCK_PAIRS, min((number + 1) * BLOCK_PAIRS, len(self.starts) - 1))

    def rows(self, number: int) -> int:
        """Tokens and end marks in a block."""
        pairs = self.pairs(number)
        return int(self.starts[pairs[-1] + 1] - self.starts[pairs[0]])

    def path(self, number: int) -> Path:
        return self.folder / f"{number:06}.said"

    def is_there(self, number: int) -> bool:
        path = self.path(number)
        with explained(path, "read"):
            return path.is_file() and path.stat().st_size == self.rows(number) * self.record.itemsize

    def read(self, pair: int) -> Records:
        """What is said of one pair."""
        number = pair // BLOCK_PAIRS
        before = int(self.starts[pair] - self.starts[number * BLOCK_PAIRS])
        count = int(self.starts[pair + 1] - self.starts[pair])
        path = self.path(number)
        with explained(path, "read"):
            found = np.fromfile(path, self.record, count, offset=before * self.record.itemsize)
        if len(found) < count:
            raise RegardError(f"{path}: damaged; delete it, and the teachers will be asked anew")
        return found


class Sayings:
    """What teachers say of every token of a prepared text: looked up by the pairs of a batch."""

    def __init__(self, blocks: _Blocks, vocabulary: int, seconds: float) -> None:
        self._blocks, self._vocabulary = blocks, vocabulary
        self.seconds = seconds
        """How long this process has asked."""

    def of(self, batch: Batch) -> Likeliest:
        """What is said of the real tokens of a batch, row after row."""
        found = [np.empty(0, self._blocks.record), *(self._blocks.read(pair) for pair in batch.indices.tolist())]
        records = np.concatenate(found)
        tokens, probabilities = records["tokens"].astype(np.int64), records["probabilities"].astype(np.float32)
        if not (np.all(tokens < self._vocabulary) and np.all((probabilities >= 0) & (probabilities <= 1))):
            raise RegardError(
                f"{self._blocks.folder}: damaged, for it holds what no teacher says; delete it, and they will be asked "
                "anew"
            )
        device = batch.target_output.device
        return Likeliest(torch.from_numpy(tokens).to(device), torch.from_numpy(probabilities).to(device))


Teacher = SequenceToSequence | Sayings
"""Models that are asked at every step, or what they said."""


def ask_teachers(
    load: Callable[[], SequenceToSequence],
    prepared: PreparedCorpus,
    config: Config,
    run: Path,
    team: Team,
    vocabulary: int,
) -> Sayings:
    """What teachers say of all of a run's text: as far as the run has it already, they are not asked again."""
    started = time.monotonic()
    with team.all_or_none():
        home = run / SAID / _fingerprint(prepared, config)
        if team.leads:
            _make_room(home)
    blocks = _Blocks.of(home, prepared.target, record_of(config, vocabulary))
    with team.all_or_none():
        asked = _ask(load, prepared, config, blocks, team)
    return Sayings(blocks, vocabulary, time.monotonic() - started if any(team.agree([asked])) else 0.0)


def _make_room(home: Path) -> None:
    with explained(home):
        make_folder(home)
        sweep(home)
        for other in home.parent.iterdir():
            if other != home:
                remove_folder(other)


def _ask(
    load: Callable[[], SequenceToSequence], prepared: PreparedCorpus, config: Config, blocks: _Blocks, team: Team
) -> bool:
    """Ask about the blocks that are missing, of those that are this process's; say whether there were any."""
    own = [number for number in range(len(blocks)) if number % team.size == team.rank]
    missing = [number for number in own if not blocks.is_there(number)]
    if not missing:
        return False
    teacher = load()
    with task("asking the teachers", sum(map(blocks.rows, missing))) as work:
        for number in missing:
            records = said_of(teacher, prepared, blocks.pairs(number), config, blocks.record, work.advance)
            write_file(blocks.path(number), records.tobytes())
    return True


@torch.no_grad()
def said_of(
    teacher: SequenceToSequence,
    prepared: PreparedCorpus,
    pairs: Rows,
    config: Config,
    record: np.dtype[Any],
    advance: Callable[[int], None] = lambda _: None,
) -> Records:
    """What a teacher says of each token and end mark of some pairs, one after the other."""
    source, target = (side.lengths(pairs) + 1 for side in (prepared.source, prepared.target))
    starts = np.cumsum(target) - target
    records = np.empty(int(target.sum()), record)
    for rows in cut_into_batches(source, target, config.train.batch_tokens):
        batch = batch_of(prepared.source, prepared.target, pairs[rows], pairs[rows]).to(teacher.device)
        layers = last_layers(teacher, features_at(teacher, batch, real_tokens(batch)))
        places = np.concatenate([np.arange(starts[row], starts[row] + target[row]) for row in rows])
        logits = MeanLogits(layers, None, CHUNK_TOKENS)
        for start in range(0, len(places), CHUNK_TOKENS):
            some = places[start : start + CHUNK_TOKENS]
            likeliest = logits.logits(slice(start, start + len(some))).softmax(-1).topk(record["tokens"].shape[0])
            records["tokens"][some] = likeliest.indices.cpu().numpy()
            records["probabilities"][some] = likeliest.values.cpu().numpy()
        advance(len(places))
    return records


def _fingerprint(prepared: PreparedCorpus, config: Config) -> str:
    """Says of which text, by which teachers, and how much is kept."""
    kept = config.train.teacher_tokens
    parts = [f"{LAYOUT} {BLOCK_PAIRS} {kept} {prepared.folder.name}", *config.train.teachers]
    digest = hashlib.sha256("\n".join(parts).encode())
    for path in files_of_teachers(config):
        with explained(path, "read"), open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
