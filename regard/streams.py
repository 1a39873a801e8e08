r"""Lines through a command: `\n` alone ends a line, whatever has arrived is served at once, order is kept."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from regard.data.lines import read_lines, utf8_fault
from regard.errors import InputError

BLOCK_LINES = 2000
BLOCK_BYTES = 1 << 17
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_blocks(path: Path | None) -> Iterator[list[str]]:
    """Lines of a file (or of standard input), in lists of as many as can be had without waiting."""
    number = 1
    for block in _file_blocks(path) if path else _stream_blocks(sys.stdin.buffer):
        for line in block:
            if "\0" in line:
                raise InputError(
                    f"{path or 'standard input'}, line {number}: holds a NUL character, so it is no plain text; "
                    "if it is UTF-16, convert it with `iconv -f UTF-16 -t UTF-8`"
                )
            number += 1
        yield block


def _file_blocks(path: Path) -> Iterator[list[str]]:
    lines = read_lines(path)
    while block := list(islice(lines, BLOCK_LINES)):
        yield block


def _stream_blocks(stream: BinaryIO) -> Iterator[list[str]]:
    """A program that writes one line and waits for its answer gets it; a long text comes in large pieces."""
    first = 1
    for block in _cut(_chunks(stream)):
        if first == 1:
            block[0] = block[0].removeprefix(BYTE_ORDER_MARK)
        yield [_decode(line, number) for number, line in enumerate(block, start=first)]
        first += len(block)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Bytes as they come: `read1` gives what is there, and waits only where nothing is."""
    read = stream.read1 if isinstance(stream, io.BufferedReader | io.BytesIO) else stream.read
    while chunk := read(BLOCK_BYTES):
        yield chunk


def _cut(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut chunks at line ends; what follows the last one waits for the next chunk."""
    rest: list[bytes] = []
    for chunk in chunks:
        *lines, tail = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join(rest) + lines[0]
            rest = []
            yield lines
        if tail:
            rest.append(tail)
    if rest:
        yield [b"".join(rest)]


def _decode(line: bytes, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input, line {number}: {utf8_fault(error)}; convert the text to UTF-8") from None


class LineWriter:
    """Writes lines to a stream, each at once; a line break inside one becomes a space, to keep line for line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, lines: Iterable[str]) -> None:
        text = "".join(line.replace("\n", " ") + "\n" for line in lines)
        self._stream.write(text.encode("utf-8", errors="replace"))
        self._stream.flush()

    def write_text(self, text: str) -> None:
        """Write text as it is."""
        self._stream.write(text.encode("utf-8", errors="replace"))
        self._stream.flush()


@contextmanager
def line_writer(path: Path | None, option: str = "--output") -> Iterator[LineWriter]:
    """A writer to a file (or to standard output), opened before the work begins."""
    if path is None:
        sys.stdout.flush()
        yield LineWriter(sys.stdout.buffer)
        return
    if path.is_dir():
        raise InputError(f"{path}: is a folder; {option} wants the name of a file")
    try:
        stream = path.open("wb")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another file") from None
    with stream:
        yield LineWriter(stream)


def read_text(path: Path | None) -> str:
    """The whole of a file (or of standard input), line ends and all; gzip is recognised."""
    where = path or "standard input"
    raw = path.read_bytes() if path else sys.stdin.buffer.read()
    try:
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
        text = raw.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise InputError(f"{where}, line {line}: byte 0x{byte:02x} is not UTF-8; convert the text to UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{where}: the gzip data is cut short or damaged ({error}); get the file again") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InputError(f"{where}, line {line}: holds a NUL character, so it is no plain text")
    return text


@contextmanager
def text_writer(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes text as it is to a file (or to standard output), opened before the work begins."""
    with line_writer(path) as writer:
        yield writer.write_text
