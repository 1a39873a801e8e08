"""Pretrained word vectors in the text form of word2vec, as fastText and GloVe also write it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import CorpusError

LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class PretrainedVectors:
    """The vectors found for a vocabulary: `values` [N, D] of the tokens `ids` [N]."""

    ids: Tensor
    values: Tensor


def read_vectors(path: str | Path, wanted: Mapping[str, int], width: int) -> PretrainedVectors:
    """Read the vectors of the words in `wanted` (word to token id); `Tokenizer.words()` gives these.

    A line is a word and `width` numbers; a first line with two numbers, how many lines and how wide, may precede.
    Of several lines for one token the first counts. Only the wanted vectors are held in memory.
    """
    found: dict[int, NDArray[np.float32]] = {}
    for place, line in _vector_lines(Path(path), width):
        word, *numbers = line.rsplit(b" ", width)
        index = wanted.get(word.decode("utf-8", errors="replace"))
        one_too_many = b" " in word and _is_number(word.rpartition(b" ")[2])
        if len(numbers) != width or not word or one_too_many:
            raise CorpusError(f"{place}: a word and {width} numbers should stand here, not {_shown(line)}.")
        if index is not None and index not in found:
            found[index] = _vector(numbers, place)
    if not found:
        raise CorpusError(f"{path} has no vector for any word of the vocabulary; is it of the right language?")
    ids = sorted(found)
    return PretrainedVectors(torch.tensor(ids), torch.from_numpy(np.stack([found[index] for index in ids])))


def _vector_lines(path: Path, width: int) -> Iterator[tuple[str, bytes]]:
    """The lines that hold vectors, each with its place; the width and number that the file claims are checked."""
    promised, count = None, 0
    for number, line in _lines(path):
        if number == 1:
            fields = line.split()
            if header := len(fields) == 2 and all(field.isdigit() for field in fields):
                promised = int(fields[0])
            stated = int(fields[1]) if header else len(fields) - 1
            if stated != width:
                raise CorpusError(
                    f"{path} has vectors of width {stated}, but the model's width is {width}; "
                    f"set `model.width = {stated}`, or give vectors of width {width} in word2vec text form."
                )
            if header:
                continue
        count += 1
        yield f"{path}:{number}", line
    if promised is not None and count != promised:
        raise CorpusError(f"{path} promises {promised} vectors in its first line and has {count}; is it cut short?")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with _open(path) as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    raise CorpusError(f"{path}:{number}: the line is too long; the text form of word2vec is wanted.")
                yield number, line.rstrip(b" \r\n")
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CorpusError(f"{path} cannot be read: {reason}. It is named as pretrained vectors of the model.") from None


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")


def _vector(numbers: list[bytes], place: str) -> NDArray[np.float32]:
    try:
        vector = np.array([float(number) for number in numbers], dtype=np.float32)
    except ValueError:
        wrong = next(number for number in numbers if not _is_number(number))
        raise CorpusError(f"{place}: {_shown(wrong)} is not a number.") from None
    if not np.isfinite(vector).all():
        raise CorpusError(f"{place}: the vector has a number that is not finite.")
    return vector


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", errors="replace")
    return repr(shown if len(shown) <= 60 else shown[:60] + "…")
