"""Files of public corpora: taken from a local folder or downloaded, checked by sha256, written whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from pathlib import Path

from regard.atomic import write_file
from regard.data.download import download
from regard.errors import CorpusError

LOCAL_DATA = "REGARD_DATA"
"""The environment variable that names a folder to take public corpora from, in place of the network."""


def local_folder(name: str) -> Path | None:
    """The folder of a corpus under REGARD_DATA, or None where the variable is not set."""
    value = os.environ.get(LOCAL_DATA, "").strip()
    if not value:
        return None
    folder = Path(value).expanduser() / name
    if not folder.is_dir():
        raise CorpusError(f"{LOCAL_DATA} is {value}, where there is no folder {name}; mend it, or unset it to download")
    return folder


def read_local(path: Path) -> bytes:
    """The text of a local file, unpacked."""
    try:
        return _unpacked(path.read_bytes(), str(path))
    except OSError as error:
        reason = error.strerror or error
        raise CorpusError(f"{path}: cannot be read ({reason}); mend {LOCAL_DATA}, or unset it to download") from None


def download_text(url: str, path: Path) -> bytes:
    """The text at an address, unpacked; a part that arrived stays beside `path` until the rest has come."""
    arrived = path.with_name(path.name + ".download")
    download(url, arrived)
    try:
        return _unpacked(arrived.read_bytes(), url)
    finally:
        arrived.unlink(missing_ok=True)


def is_there(path: Path, digest: str) -> bool:
    """Whether a file of that content is in place already."""
    try:
        return path.is_file() and sha256(_unpacked(path.read_bytes(), str(path))) == digest
    except (CorpusError, OSError):
        return False


def write_checked(path: Path, text: bytes, digest: str) -> None:
    """Pack a text to `path` if its sha256 is the right one."""
    found = sha256(text)
    if found != digest:
        raise CorpusError(
            f"{path}: what came has sha256 {found[:16]}…, not {digest[:16]}…; nothing was kept; run the command again, "
            "and if it stays so, the file at its origin has changed"
        )
    write_packed(path, text)


def write_packed(path: Path, text: bytes) -> None:
    """Pack a text with gzip; the same text gives the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(text)
    write_file(path, packed.getvalue())


def sha256(text: bytes) -> str:
    """The sha256 in hexadecimal."""
    return hashlib.sha256(text).hexdigest()


def _unpacked(content: bytes, name: str) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise CorpusError(f"{name}: damaged gzip data ({error}); nothing was kept; run the command again") from None
