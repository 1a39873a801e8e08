"""A log that is written a few times a second: a line for each of a thousand requests must not hold them up."""

from __future__ import annotations

import asyncio
import atexit
import logging
import sys

PATIENCE = 0.2
"""Seconds that a line may wait for others."""
MOST_LINES = 1000


class PatientHandler(logging.Handler):
    """Writes to standard error, many lines together; warnings do not wait."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._waiting = False
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self._lines.append(self.format(record))
        if record.levelno >= logging.WARNING or len(self._lines) >= MOST_LINES:
            self.flush()
        elif not self._waiting:
            try:
                asyncio.get_running_loop().call_later(PATIENCE, self.flush)
                self._waiting = True
            except RuntimeError:  # not in the event loop's thread
                self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self.acquire()
        try:
            lines, self._lines, self._waiting = self._lines, [], False
        finally:
            self.release()
        if lines:
            sys.stderr.write("\n".join(lines) + "\n")
            sys.stderr.flush()
