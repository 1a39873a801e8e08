"""Folders that one process has to itself, as far as the system can tell; one that dies gives them back."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """A hold on a folder, until it is closed or its process ends.

    Nothing is written for it. Where the system cannot lock a folder, as some network disks cannot, all are let in.
    """

    def __init__(self, folder: Path, wait: bool) -> None:
        """Wait until nobody else holds the folder; without `wait`, BlockingIOError where somebody does."""
        self._descriptor: int | None = None
        if fcntl is None:
            return
        self._descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self.close()
            raise
        except OSError:
            pass

    def close(self) -> None:
        """Let others in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
