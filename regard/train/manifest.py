"""The manifest of a checkpoint: which files it has, how long they are, and their sha256; sealed by a sum of its own."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.errors import RegardError

MANIFEST = "manifest.json"
FORMAT = 1
_MAX_BYTES = 1 << 20
"""A manifest is a few hundred bytes; a file beyond this is none, and is not read."""

_SEAL = re.compile(rb',\n"seal": "([0-9a-f]{64})"}\n')
_SEAL_BYTES = len(b',\n"seal": "') + 64 + len(b'"}\n')


class DamagedCheckpoint(RegardError):  # noqa: N818 - what it is, not that it is an error
    """A checkpoint that is not what was written: the message names the folder and the reason."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: damaged checkpoint: {reason}")
        self.folder, self.reason = folder, reason


@dataclass(frozen=True)
class FileRecord:
    """What a file of the checkpoint must be."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint is, and the files it must have. `name` is its folder's, so that none passes for another."""

    name: str
    step: int
    score: float | None
    interim: bool
    files: dict[str, FileRecord]


def describe_files(folder: Path) -> dict[str, FileRecord]:
    """Size and sha256 of every file in a folder."""
    return {path.name: _record(path) for path in sorted(folder.iterdir())}


def _record(path: Path) -> FileRecord:
    with open(path, "rb") as file:
        return FileRecord(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def seal(manifest: Manifest) -> bytes:
    """The manifest as JSON whose last member, `seal`, is the sha256 of all the bytes before it."""
    body = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1, allow_nan=False).encode()
    body = body.removesuffix(b"\n}")
    return body + b',\n"seal": "' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a checkpoint and look at names and sizes of its files, not at what is in them."""
    content = _unseal(folder, _read(folder, MANIFEST, _MAX_BYTES))
    try:
        manifest = _parse(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DamagedCheckpoint(folder, f"{MANIFEST} is not of a form that this version of regard knows") from None
    if manifest.name != folder.name:
        raise DamagedCheckpoint(folder, f"{MANIFEST} is that of {manifest.name}")
    _check_names(folder, manifest)
    for name, record in manifest.files.items():
        size = _regular_size(folder, name)
        if size != record.size:
            raise DamagedCheckpoint(folder, f"{name} has {size:,} bytes, not {record.size:,}")
    return manifest


def verify(folder: Path, manifest: Manifest) -> None:
    """Read every file, and compare its sha256."""
    for name in manifest.files:
        _regular_size(folder, name)
        try:
            found = _record(folder / name)
        except OSError as error:
            raise _unreadable(folder, name, error) from None
        if found != manifest.files[name]:
            raise DamagedCheckpoint(folder, f"{name} is not what was written (its sha256 differs)")


def read_verified(folder: Path, manifest: Manifest, name: str) -> bytearray:
    """The bytes of a file, which are those that were written."""
    record = manifest.files[name]
    content = _read(folder, name, record.size)
    if hashlib.sha256(content).hexdigest() != record.sha256:
        raise DamagedCheckpoint(folder, f"{name} is not what was written (its sha256 differs)")
    return content


def _unseal(folder: Path, content: bytearray) -> bytearray:
    """Check the seal on the bytes as they are: not even a space may differ."""
    body, ending = content[:-_SEAL_BYTES], content[-_SEAL_BYTES:]
    match = _SEAL.fullmatch(ending)
    if match is None or hashlib.sha256(body).hexdigest().encode() != match[1]:
        raise DamagedCheckpoint(folder, f"{MANIFEST} is not what was written (its seal is broken)")
    return content


def _parse(values: Any) -> Manifest:
    if values["format"] != FORMAT:
        raise ValueError("another format")
    files = {name: FileRecord(int(record["size"]), str(record["sha256"])) for name, record in values["files"].items()}
    score = None if values["score"] is None else float(values["score"])
    return Manifest(str(values["name"]), int(values["step"]), score, bool(values.get("interim")), files)


def _check_names(folder: Path, manifest: Manifest) -> None:
    try:
        found = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise _unreadable(folder, str(folder), error) from None
    expected = {MANIFEST, *manifest.files}
    if missing := sorted(expected - found):
        raise DamagedCheckpoint(folder, f"{missing[0]} is missing")
    if unknown := sorted(found - expected):
        raise DamagedCheckpoint(folder, f"{unknown[0]} does not belong to it")


def _read(folder: Path, name: str, limit: int) -> bytearray:
    size = _regular_size(folder, name)
    if size > limit:
        raise DamagedCheckpoint(folder, f"{name} is longer than it can be")
    content = bytearray(size)
    try:
        with open(folder / name, "rb") as file:
            read = file.readinto(content)
        return content[:read] if read < size else content
    except OSError as error:
        raise _unreadable(folder, name, error) from None


def _regular_size(folder: Path, name: str) -> int:
    """The size of a plain file: a link would lead elsewhere, and a pipe would never end."""
    try:
        status = (folder / name).lstat()
    except OSError as error:
        raise _unreadable(folder, name, error) from None
    if not stat.S_ISREG(status.st_mode):
        raise DamagedCheckpoint(folder, f"{name} is not a plain file")
    return status.st_size


def _unreadable(folder: Path, name: str, error: OSError) -> DamagedCheckpoint:
    if isinstance(error, FileNotFoundError):
        return DamagedCheckpoint(folder, f"{name} is missing")
    return DamagedCheckpoint(folder, f"{name} cannot be read ({error.strerror or error})")
