"""Lines of a file as bytes: ended by the byte `\\n` alone, gzip or not, in constant memory whatever the file holds."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from regard.errors import CorpusError

LINE_LIMIT = 1 << 24
"""Bytes that a line may have before reading gives up on it (16 MiB)."""

_UTF8_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "is UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`",
    b"PK\x03\x04": "is a zip archive; unpack it and name the text inside",
    b"\xfd7zXZ\x00": "is compressed with xz; unpack it with `unxz`, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it with `unzstd`, or pack it with gzip",
}
_PUBLIC = {"multi30k": "regard data multi30k", "tatoeba": "regard data tatoeba", "builtin": "regard data builtin"}


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; CorpusError names the first that cannot be read."""
    for number, raw in enumerate(raw_lines(path), start=1):
        if raw is None:
            raise CorpusError(f"{path}:{number}: longer than {LINE_LIMIT:,} bytes; is this a text file?")
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}:{number}: {utf8_fault(error)}; convert the file to UTF-8") from None


def utf8_fault(error: UnicodeDecodeError) -> str:
    """What is wrong with a line that is no UTF-8, in words."""
    return f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} is not UTF-8"


def raw_lines(path: str | Path, limit: int = LINE_LIMIT) -> Iterator[bytes | None]:
    """Each line without its `\\n` or `\\r\\n`, and without a byte order mark; None for one of more than `limit` bytes.

    Only the byte `\\n` ends a line: a lone carriage return, U+0085 and U+2028 are text like any other. A last line
    without its end counts as a line.
    """
    path = Path(path)
    check_readable(path)
    number = 0
    try:
        with path.open("rb") as file, _unpacked(file) as stream:
            _refuse_foreign(path, stream)
            while raw := stream.readline(limit + 2):
                number += 1
                if not raw.endswith(b"\n") and len(raw) > limit:
                    _drop_rest_of_line(stream)
                    yield None
                    continue
                raw = raw.removesuffix(b"\n").removesuffix(b"\r")
                yield raw if len(raw) <= limit else None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        where = f"after line {number}" if number else "from the start"
        raise CorpusError(
            f"{path}: the gzip data is cut short or damaged {where} ({error}); get the file again"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from None


def check_readable(path: Path) -> None:
    """Refuse what is no readable file, with a word on what to do."""
    try:
        if path.is_dir():
            raise CorpusError(f"{path}: is a folder; name a file in it")
        if not path.exists():
            raise CorpusError(f"{path}: no such file; {_how_to_get(path)}")
        if path.is_file():
            path.open("rb").close()
    except PermissionError:
        raise CorpusError(f"{path}: may not be read; mend it with `chmod +r`, or run as its owner") from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{str(path)!r}: cannot be read ({error})") from None


def _how_to_get(path: Path) -> str:
    """The command that brings a missing public corpus, or else general advice."""
    for name, command in _PUBLIC.items():
        if any(part.startswith(name) for part in path.parts[:-1]):
            return f"`{command}` brings it"
    relative = "" if path.is_absolute() else f" (looked for in {Path.cwd()})"
    return f"check the spelling{relative}"


def _unpacked(file: BinaryIO) -> BinaryIO:
    """The stream itself, or what is inside where it begins like gzip, whatever its name says."""
    buffered = cast(io.BufferedReader, file)
    if buffered.peek(2)[:2] != _GZIP:
        return file
    return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), buffer_size=1 << 17))


def _refuse_foreign(path: Path, stream: BinaryIO) -> None:
    """Step over a UTF-8 byte order mark; refuse other encodings and archives by their first bytes."""
    start = cast(io.BufferedReader, stream).peek(8)
    for magic, advice in _FOREIGN.items():
        if start.startswith(magic):
            raise CorpusError(f"{path}: {advice}")
    if start.startswith(_UTF8_BOM):
        stream.read(len(_UTF8_BOM))


def _drop_rest_of_line(stream: BinaryIO) -> None:
    while (piece := stream.readline(1 << 16)) and not piece.endswith(b"\n"):
        pass
