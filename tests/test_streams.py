r"""Lines through a command: `\n` alone ends a line, and what has arrived is served at once."""

import io
import os
import sys
from pathlib import Path

import pytest

from regard.errors import InputError, RegardError
from regard.streams import line_writer, read_blocks


def read(content: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return [line for block in read_blocks(None) for line in block]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("a\u2028b\u0085c\x0bd\x0ce\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce"]),
        (b"a\rb\n", ["a\rb"]),
    ],
)
def test_only_the_newline_byte_ends_a_line(content: bytes, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(content, monkeypatch) == lines


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_the_same_wherever_chunks_end(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\ufeffé中🙂\r\n\nzwei\nlast"
    monkeypatch.setattr("regard.streams.BLOCK_BYTES", size)
    assert read(text.encode(), monkeypatch) == ["é中🙂", "", "zwei", "last"]


def test_file_and_standard_input_give_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\ufeffeins\r\n\u2028\n\ndrei".encode()
    (tmp_path / "f").write_bytes(content)
    monkeypatch.setattr("regard.streams.BLOCK_LINES", 2)
    assert [line for block in read_blocks(tmp_path / "f") for line in block] == read(content, monkeypatch)


def test_line_is_served_before_the_stream_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    receiving, sending = os.pipe()
    with os.fdopen(receiving) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        blocks = read_blocks(None)
        os.write(sending, b"one\n")
        assert next(blocks) == ["one"]
        os.write(sending, b"two\nthr")
        assert next(blocks) == ["two"]
        os.write(sending, b"ee\n")
        assert next(blocks) == ["three"]
        os.close(sending)
        assert list(blocks) == []


def test_invalid_utf8_is_named_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="standard input, line 2: byte 0xff at byte 3 is not UTF-8"):
        read(b"good\nba\xffd\n", monkeypatch)


def test_nul_is_named_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="line 3: holds a NUL"):
        read(b"a\nb\nc\0\n", monkeypatch)


def test_each_output_is_one_line(tmp_path: Path) -> None:
    with line_writer(tmp_path / "out") as output:
        output.write(["a\nb", "", "c\u2028d"])
    assert (tmp_path / "out").read_bytes() == "a b\n\nc\u2028d\n".encode()


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="is a folder"), line_writer(tmp_path):
        pass
    with pytest.raises(RegardError, match="cannot be written"), line_writer(tmp_path / "missing" / "out"):
        pass
