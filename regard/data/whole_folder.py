"""Folders that appear whole or not at all, whenever the process that writes them is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new, hidden sibling to write into; afterwards it takes the folder's place. An exception leaves all as it was.

    Hold `only_one_process` meanwhile: what is left of a killed process is swept away here.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    outdated = folder.with_name(f".{folder.name}.outdated")
    for leftover in (partial, outdated):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        for path in (*partial.iterdir(), partial):
            _fsync(path)
        if folder.exists():
            folder.rename(outdated)
        partial.rename(folder)
        _fsync(folder.parent)
        shutil.rmtree(outdated, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def only_one_process(folder: Path) -> Iterator[None]:
    """Wait until no other process is inside this block for the same folder, where the system can tell."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot lock
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fsync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
