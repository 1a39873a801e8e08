"""Pretrained vectors: both forms of the text file, and every fault named with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch

from regard.config import TokenizerConfig
from regard.data.tokenizer import train_tokenizer
from regard.data.vectors import read_vectors
from regard.errors import CorpusError

WANTED = {"the": 7, "chat": 5, "▁the": 7, "é": 300}
LINES = "the 1 2 3\nunwanted 9 9 9\nchat 0.5 -1e-1 4.0 \nthe 8 8 8\né 1 1 1\n"


def write(folder: Path, text: str | bytes, name: str = "vectors.vec") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("header", ["", "5 3\n"])
def test_wanted_vectors_are_read_and_the_first_counts(tmp_path: Path, header: str) -> None:
    vectors = read_vectors(write(tmp_path, header + LINES), WANTED, 3)
    assert vectors.ids.tolist() == [5, 7, 300]
    assert torch.equal(vectors.values, torch.tensor([[0.5, -0.1, 4.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    assert vectors.values.dtype == torch.float32


def test_gzip_is_known_by_its_contents(tmp_path: Path) -> None:
    assert read_vectors(write(tmp_path, gzip.compress(LINES.encode())), WANTED, 3).ids.tolist() == [5, 7, 300]


def test_line_ends_spaces_in_words_and_broken_words_do_no_harm(tmp_path: Path) -> None:
    text = b"the 1 2 3\r\n. . . 1 2 3\n\xff\xfe 1 2 3\nno\xc2\xa0break 1 2 3\n\xe2\x80\xa8 1 2 3\nchat 4 5 6\r\n"
    assert read_vectors(write(tmp_path, text), WANTED, 3).ids.tolist() == [5, 7]


def test_vectors_reach_the_tokens_of_a_vocabulary(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["the cat saw the cat"] * 3, TokenizerConfig(kind="word", vocabulary_size=400))
    vectors = read_vectors(write(tmp_path, "cat 1 2\n▁saw 3 4\n</s> 5 6\n"), tokenizer.words(), 2)
    found = dict(zip(vectors.ids.tolist(), vectors.values.tolist(), strict=True))
    assert found == {tokenizer.encode("cat")[0]: [1.0, 2.0], tokenizer.encode("saw")[0]: [3.0, 4.0]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 4\n" + LINES, r"vectors\.vec has vectors of width 4, but the model's width is 3"),
        ("the 1 2\n", r"vectors\.vec has vectors of width 2, but the model's width is 3"),
        ("the 1 2 3\nchat 1 2\n", r"vectors\.vec:2: a word and 3 numbers .*'chat 1 2'"),
        ("the 1 2 3\nchat 1 2 3 4\n", r"vectors\.vec:2: a word and 3 numbers"),
        ("the 1 2 3\n\nchat 1 2 3\n", r"vectors\.vec:2: a word and 3 numbers"),
        ("the 1 2 3\n 1 2 3\n", r"vectors\.vec:2: a word and 3 numbers"),
        ("other 1 2 3\nthe 1 two 3\n", r"vectors\.vec:2: 'two' is not a number"),
        ("the 1 nan 3\n", r"vectors\.vec:1: .*not finite"),
        ("the 1 1e999 3\n", r"vectors\.vec:1: .*not finite"),
        ("6 3\n" + LINES, r"promises 6 vectors in its first line and has 5"),
        ("other 1 2 3\n", "no vector for any word"),
        ("", "no vector for any word"),
        ("5 3\nthe " + "x" * (1 << 21), r"vectors\.vec:2: the line is too long"),
        (b"2 3\nthe \x00\x00\x80?\x00\x00\n\x00", r"vectors\.vec:2: a word and 3 numbers"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_vectors(write(tmp_path, text), WANTED, 3)


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nowhere\.vec cannot be read: No such file"):
        read_vectors(tmp_path / "nowhere.vec", WANTED, 3)
    with pytest.raises(CorpusError, match="cannot be read"):
        read_vectors(tmp_path, WANTED, 3)
    with pytest.raises(CorpusError, match="cannot be read"):
        read_vectors(write(tmp_path, gzip.compress(LINES.encode())[:-12]), WANTED, 3)
