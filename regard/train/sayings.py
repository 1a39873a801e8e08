"""What teachers say of every token of a text, asked once before training and kept on the disk.

Teachers do not change, and say the same of a pair in every epoch. With `train.teacher_tokens = K`, each token's K
likeliest are kept with their probabilities, and what is left of the probability counts as spread evenly over all
tokens. Pairs are asked about in blocks, each a file that appears whole or not at all, and several processes take
blocks in turn: whoever is interrupted goes on with the blocks that are missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
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
from regard.data.ragged import Ragged
from regard.models.contract import SequenceToSequence
from regard.models.teachers import files_of_teachers
from regard.progress import Task, task
from regard.train.teacher_forcing import features_at, real_tokens
from regard.train.teaching import Likeliest, MeanLogits, said_by
from regard.train.team import Team

SAID = "said"
"""The folder of what was said in that of a run."""
LAYOUT = 1
BLOCK_PAIRS = 2048
CHUNK_TOKENS = 256
PROBABILITY = np.dtype("<f2")


def bytes_of_sayings(config: Config, vocabulary: int) -> int:
    """What is kept of each token, where teachers are asked once."""
    kept = min(config.train.teacher_tokens, vocabulary) if config.train.teachers else 0
    return kept * (_token(vocabulary).itemsize + PROBABILITY.itemsize)


def _token(vocabulary: int) -> np.dtype[Any]:
    return np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")


@dataclass(frozen=True)
class _Blocks:
    """Where what is said of each pair stands: in block number `pair // BLOCK_PAIRS`, pair after pair."""

    folder: Path
    starts: NDArray[np.int64]
    """[pairs + 1] the tokens and end marks of the pairs before each."""
    kept: int
    token: np.dtype[Any]

    @classmethod
    def of(cls, folder: Path, targets: Ragged, kept: int, vocabulary: int) -> _Blocks:
        starts = targets.offsets + np.arange(len(targets) + 1)
        return cls(folder, starts, min(kept, vocabulary), _token(vocabulary))

    def __len__(self) -> int:
        return -(-(len(self.starts) - 1) // BLOCK_PAIRS)

    def pairs(self, number: int) -> NDArray[np.int64]:
        return np.arange(number * BLOCK_PAIRS, min((number + 1) * BLOCK_PAIRS, len(self.starts) - 1))

    def rows(self, number: int) -> int:
        """Tokens and end marks in a block."""
        pairs = self.pairs(number)
        return int(self.starts[pairs[-1] + 1] - self.starts[pairs[0]])

    def path(self, number: int) -> Path:
        return self.folder / f"{number:06}.said"

    def is_there(self, number: int) -> bool:
        size = self.rows(number) * self.kept * (self.token.itemsize + PROBABILITY.itemsize)
        path = self.path(number)
        return path.is_file() and path.stat().st_size == size

    def write(self, number: int, tokens: NDArray[np.int64], probabilities: NDArray[np.float32]) -> None:
        write_file(self.path(number), tokens.astype(self.token).tobytes() + probabilities.astype(PROBABILITY).tobytes())

    def read(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Tokens and probabilities, [rows, kept] each, mapped."""
        shape = (self.rows(number), self.kept)
        middle = shape[0] * shape[1] * self.token.itemsize
        path = self.path(number)
        return (
            np.memmap(path, self.token, "r", shape=shape),
            np.memmap(path, PROBABILITY, "r", offset=middle, shape=shape),
        )


class Sayings:
    """What teachers say of every token of a prepared text: looked up by the pairs of a batch."""

    def __init__(self, blocks: _Blocks) -> None:
        with explained(blocks.folder, "read"):
            self._read = [blocks.read(number) for number in range(len(blocks))]
        self._starts = blocks.starts

    def of(self, batch: Batch) -> Likeliest:
        """What is said of the real tokens of a batch, row after row."""
        pairs = batch.indices.tolist()
        device = batch.target_output.device
        tokens, probabilities = (self._rows(pairs, side) for side in (0, 1))
        return Likeliest(
            torch.from_numpy(tokens.astype(np.int64)).to(device),
            torch.from_numpy(probabilities.astype(np.float32)).to(device),
        )

    def _rows(self, pairs: Sequence[int], side: int) -> NDArray[Any]:
        parts = [self._read[0][side][:0]]
        for pair in pairs:
            number = pair // BLOCK_PAIRS
            first = self._starts[number * BLOCK_PAIRS]
            parts.append(self._read[number][side][self._starts[pair] - first : self._starts[pair + 1] - first])
        return np.concatenate(parts)


def ask_teachers(
    teacher: SequenceToSequence, prepared: PreparedCorpus, config: Config, run: Path, team: Team, vocabulary: int
) -> Sayings:
    """What a teacher says of all of a run's text: as far as the run has it already, it is not asked again."""
    home = run / SAID / _fingerprint(prepared, config)
    blocks = _Blocks.of(home, prepared.target, config.train.teacher_tokens, vocabulary)
    with team.all_or_none():
        if team.leads:
            _make_room(home)
    with team.all_or_none():
        _ask(teacher, prepared, config, blocks, team)
    return Sayings(blocks)


def _make_room(home: Path) -> None:
    with explained(home):
        make_folder(home)
        sweep(home)
        for other in home.parent.iterdir():
            if other != home:
                remove_folder(other)


def _ask(teacher: SequenceToSequence, prepared: PreparedCorpus, config: Config, blocks: _Blocks, team: Team) -> None:
    own = [number for number in range(len(blocks)) if number % team.size == team.rank]
    missing = [number for number in own if not blocks.is_there(number)]
    if not missing:
        return
    with task("asking the teachers", sum(map(blocks.rows, missing))) as work:
        for number in missing:
            blocks.write(number, *_said_of(teacher, prepared, config, blocks, number, work))


@torch.no_grad()
def _said_of(
    teacher: SequenceToSequence, prepared: PreparedCorpus, config: Config, blocks: _Blocks, number: int, work: Task
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The likeliest tokens after all that is before each token of a block, and how likely they are: [rows, kept]."""
    pairs = blocks.pairs(number)
    tokens = np.empty((blocks.rows(number), blocks.kept), dtype=np.int64)
    probabilities = np.empty(tokens.shape, dtype=np.float32)
    source, target = (side.lengths(pairs) + 1 for side in (prepared.source, prepared.target))
    for rows in cut_into_batches(source, target, config.train.batch_tokens):
        some = pairs[rows]
        batch = batch_of(prepared.source, prepared.target, some, some).to(teacher.device)
        said = said_by(teacher, features_at(teacher, batch, real_tokens(batch)))
        first = blocks.starts[pairs[0]]
        places = np.concatenate([np.arange(blocks.starts[pair], blocks.starts[pair + 1]) for pair in some]) - first
        tokens[places], probabilities[places] = _likeliest(
            MeanLogits(said, None, CHUNK_TOKENS), len(places), blocks.kept
        )
        work.advance(len(places))
    return tokens, probabilities


def _likeliest(said: MeanLogits, count: int, kept: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    parts = []
    for start in range(0, count, CHUNK_TOKENS):
        parts.append(said.logits(slice(start, min(start + CHUNK_TOKENS, count))).softmax(-1).topk(kept))
    values, tokens = (torch.cat(some).cpu().numpy() for some in zip(*parts, strict=True))
    return tokens, values


def _fingerprint(prepared: PreparedCorpus, config: Config) -> str:
    """Says of which text, by which teachers, and how much is kept."""
    digest = hashlib.sha256(f"{LAYOUT} {BLOCK_PAIRS} {prepared.folder.name} {config.train.teacher_tokens}".encode())
    for file in files_of_teachers(config):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
