"""Whether a client has left: the connection knows, and whoever works for the client hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Receive, Scope

KEY = "regard.departure"
"""Where the scope of a request holds the departure of its client."""


class Departure:
    """The end of a connection, for those whose work is in vain after it; all in the event loop's thread."""

    def __init__(self, listen: Callable[[], None] = lambda: None) -> None:
        self._listen = listen
        self._told: list[Callable[[], None]] = []
        self.happened = False

    def tell(self, callback: Callable[[], None]) -> None:
        """Call somebody when it happens, or now if it has; the connection is listened to, or its end is not seen."""
        self._told.append(callback)
        self._listen()
        if self.happened:
            callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Call somebody no more."""
        self._told.remove(callback)

    def happen(self) -> None:
        """Tell all who want to know, once."""
        if not self.happened:
            self.happened = True
            for callback in list(self._told):
                callback()


@contextmanager
def told_of_departure(scope: Scope, receive: Receive, leave: Callable[[], None]) -> Iterator[None]:
    """Have `leave` called if the client leaves meanwhile.

    Our own connections put their departure into the scope; for others a task of its own waits for the message.
    """
    departure: Departure | None = scope.get(KEY)
    watch = None
    if departure is None:
        departure = Departure()
        watch = asyncio.ensure_future(_watch(receive, departure))
    departure.tell(leave)
    try:
        yield
    finally:
        departure.forget(leave)
        if watch is not None:
            watch.cancel()


async def _watch(receive: Receive, departure: Departure) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    departure.happen()
