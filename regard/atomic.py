"""Writing that is all or nothing: made aside under a hidden name, flushed to the disk, then renamed into place."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import RegardError

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.(part|gone)")

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space, then go on",
    errno.EDQUOT: "your quota of the disk is used up: free some space, then go on",
    errno.EFBIG: "the file is larger than this system allows",
    errno.EROFS: "the disk is read-only: choose a folder that can be written",
    errno.EACCES: "change the permissions, or choose a folder that can be written",
    errno.EPERM: "change the permissions, or choose a folder that can be written",
    errno.ENOTDIR: "a part of that path is a file: choose another folder",
    errno.EBUSY: "it is in use, by this command itself if it is the folder you are in: name another",
    errno.EISDIR: "there is a folder of that name: choose another name",
    errno.EEXIST: "there is something of that name: choose another name",
    errno.ENOTEMPTY: "there is a folder of that name, and it is not empty: choose another name, or remove it",
}


def write_file(path: str | Path, content: bytes) -> None:
    """Put `content` at `path`: whoever looks sees the old file or the whole new one, even after a crash."""
    path = Path(path)
    aside = _aside(path, "part")
    with explained(path):
        try:
            make_folder(path.parent)
            with open(aside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
            _sync(path.parent)
        except BaseException:
            _erase(aside)
            raise


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """A hidden folder to fill; when the block ends well it is flushed to the disk and becomes `path`.

    When the block raises, nothing stays behind. A folder that exists and holds something is never replaced:
    `remove_folder` first, if it may go.
    """
    path = Path(path)
    aside = _aside(path, "part")
    with explained(path):
        try:
            make_folder(path.parent)
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
            if path.is_dir() and any(path.iterdir()):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
            if path.is_dir() and path.samefile(Path.cwd()):  # whoever is in there would be nowhere
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
            aside.mkdir()
            yield aside
            for folder, _, files in os.walk(aside, topdown=False):
                for name in files:
                    _sync(Path(folder, name))
                _sync(Path(folder))
            aside.rename(path)
            _sync(aside.parent)
        except BaseException:
            _erase(aside)
            raise


def remove_folder(path: str | Path) -> None:
    """Remove a folder in one stroke: a crash leaves it whole, or hidden under a name that `sweep` removes."""
    path = Path(path)
    gone = _aside(path, "gone")
    with explained(path, "removed"):
        path.rename(gone)
        _sync(path.parent)
    _erase(gone)


def sweep(folder: str | Path) -> None:
    """Remove what writers that were killed left half done in `folder`; call it only where nobody else writes."""
    with suppress(OSError):
        for entry in list(Path(folder).iterdir()):
            if _LEFTOVER.fullmatch(entry.name):
                _erase(entry)


def make_folder(path: str | Path) -> None:
    """Make a folder, and those above it, so that they are still there after a crash."""
    path = Path(path)
    if path.is_dir():
        return
    if path.exists() and not path.is_dir():  # another process may have made it since
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if path.parent != path:
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _sync(path.parent)


@contextmanager
def explained(path: str | Path, done: str = "written") -> Iterator[None]:
    """Turn an error of the system while `path` is `done` into one that says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        remedy = _REMEDIES.get(error.errno or 0, "look at the disk and its permissions")
        raise RegardError(f"{path}: cannot be {done} ({reason}); {remedy}") from error


def _aside(path: Path, kind: str) -> Path:
    place = Path(os.path.abspath(path))  # noqa: PTH100 - links stay what they are, and `.` is no name
    return place.parent / f".{place.name}.{secrets.token_hex(4)}.{kind}"


def _erase(path: Path) -> None:
    """Remove a file or a folder as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":  # Windows cannot open a folder, and keeps names safe by itself
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network disks cannot flush a folder; there is nothing better to be had from them.
        if not (is_folder and error.errno in (errno.EINVAL, errno.ENOTSUP)):
            raise
    finally:
        os.close(handle)
