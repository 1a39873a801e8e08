"""Leaving well: the first SIGTERM or Ctrl-C lets a run save and stop, the second stops it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):  # noqa: N818 - no error, but what was asked for
    """A run was asked to stop, and has: `exit_code` is 130 for Ctrl-C and 143 for SIGTERM."""

    def __init__(self, number: int | None, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + (number or 0)


class StopRequest:
    """Whether somebody asked the run to stop."""

    number: int | None = None

    def __bool__(self) -> bool:
        return self.number is not None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        if self.number is not None:
            os._exit(128 + number)
        self.number = number


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Turn SIGTERM and Ctrl-C into a request that the loop looks at between batches."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, request.handle) for number in numbers}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
