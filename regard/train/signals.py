"""Leaving well: the first SIGTERM or Ctrl-C lets a run save and stop, the second stops it at once."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 5.0
"""Seconds that the compiled code of a library has to come back to Python, where a signal is looked at."""

_NOTHING_LOST = "stopped; nothing is lost, and the same command goes on"


class Interrupted(BaseException):
    """A run was asked to stop, and has: `exit_code` is 130 for Ctrl-C and 143 for SIGTERM.

    No `Exception`, like Python's own `KeyboardInterrupt`: it can rise anywhere, and libraries catch exceptions.
    """

    def __init__(self, number: int | None, message: str = _NOTHING_LOST) -> None:
        super().__init__(message)
        self.exit_code = 128 + (number or 0)


class StopRequest:
    """Whether somebody asked the run to stop, and whether it may do so in the middle of what it does."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.raises = False
        """Whether a signal raises `Interrupted` where it finds the run, or is only noted."""

    def __bool__(self) -> bool:
        return self.number is not None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        if self.raises:
            raise Interrupted(number)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, a signal raises: for work that can be abandoned anywhere and done again."""
        with self._raising(True):
            self._raise_if_asked()
            yield
            self._raise_if_asked()  # what a signal raised is lost where it hits the clean-up of an object

    @contextmanager
    def later(self) -> Iterator[None]:
        """Inside, a signal is only noted: for work that must be finished, and looks at the request by itself."""
        with self._raising(False):
            yield

    def _raise_if_asked(self) -> None:
        if self:
            raise Interrupted(self.number)

    @contextmanager
    def _raising(self, raises: bool) -> Iterator[None]:
        before, self.raises = self.raises, raises
        try:
            yield
        finally:
            self.raises = before


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Turn SIGTERM and Ctrl-C into a request, which is only noted unless `at_once` says otherwise."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.handle) for number in SIGNALS}
    try:
        with _watched(request):
            yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched(request: StopRequest) -> Iterator[None]:
    """Watch over signals from a thread of its own.

    Python looks at a signal between two of its own instructions. Learning a large vocabulary is one call of a library
    that takes a minute, and waiting for another process is one that may never come back.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    if before != -1:  # somebody else, such as asyncio, waits for signals in this way: leave it to them
        signal.set_wakeup_fd(before)
    threading.Thread(target=_watch, args=(reader, request), name="regard-signals", daemon=True).start()
    try:
        yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
        writer.close()


def _watch(reader: socket.socket, request: StopRequest) -> None:
    """Leave in the place of a main thread that does not come back to Python.

    At the second signal, whatever it does; after the first, and some grace, where nothing would be lost by that.
    """
    with reader:
        first = _next_signal(reader)
        reader.settimeout(GRACE)
        try:
            second = _next_signal(reader)
        except TimeoutError:
            if first and not request and request.raises:
                print(f"regard: {_NOTHING_LOST}", file=sys.stderr, flush=True)
                os._exit(128 + first)
            reader.settimeout(None)
            second = _next_signal(reader)
        if second:
            os._exit(128 + second)


def _next_signal(reader: socket.socket) -> int:
    """Wait for a signal that asks to stop; 0 when no more will come."""
    while (number := int.from_bytes(reader.recv(1))) and number not in SIGNALS:
        pass
    return number
