"""Faults of our own in the log: what kind and where, and nothing that a user wrote."""

from __future__ import annotations

import logging
import traceback

log = logging.getLogger("regard.serve")


def log_fault(error: BaseException) -> None:
    """Log the kind of an error and the lines that it came through; its message may hold a text, and stays out."""
    shown: BaseException | None = error
    while shown is not None:
        frames = traceback.extract_tb(shown.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        log.error("a fault in regard itself, please report it: %s\n  %s", type(shown).__name__, "\n  ".join(lines))
        shown = shown.__cause__
