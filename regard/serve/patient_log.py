"""A log that is written a few times a second: a line for each of a thousand requests must not hold them up."""

from __future__ import annotations

import asyncio
import atexit
import logging
import sys
from contextlib import suppress

PATIENCE = 0.2
"""Seconds that a line may wait for others."""
MOST_LINES = 1000


class PatientFormatter(logging.Formatter):
    """Writes the time of a second once for all its lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._latest = 0, ""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        """The time of a line, to the millisecond."""
        second, written = self._latest
        if int(record.created) != second:
            written = super().formatTime(record, datefmt).partition(",")[0]
            self._latest = int(record.created), written
        return f"{written},{int(record.msecs):03d}"


class PatientHandler(logging.Handler):
    """Writes to standard error, many lines together; warnings do not wait."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[logging.LogRecord] = []
        self._waiting = False
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self._lines.append(record)
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
            with suppress(OSError, ValueError):  # of a stream that nobody reads any more
                sys.stderr.write("".join(f"{self._worded(line)}\n" for line in lines))
                sys.stderr.flush()

    def _worded(self, record: logging.LogRecord) -> str:
        """A line; one that cannot be put into words must not take others with it."""
        try:
            return self.format(record)
        except Exception as error:
            return f"{record.levelname} a line of {record.pathname}:{record.lineno} is lost ({type(error).__name__})"
