"""Work done ahead of its use: an iterator that runs in a background thread, a few items in front of its consumer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

Stopped = Callable[[], bool]


class _End:
    """Stands behind the last item; carries the exception that ended the iteration, if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def prefetched(make: Callable[[Stopped], Iterator[T]], depth: int) -> Iterator[T]:
    """The items of `make(stopped)`, made in a background thread at most `depth` ahead.

    An exception in the thread is raised here. When the consumer closes this generator, `stopped()` becomes true and
    the thread has ended before `close` returns; work that takes long between two items should ask it now and then.
    """
    items: queue.Queue[T | _End] = queue.Queue(maxsize=depth)
    stop = threading.Event()
    thread = threading.Thread(target=_run, args=(make, items, stop), name="regard-prefetch", daemon=True)
    thread.start()
    try:
        while not isinstance(item := items.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        while thread.is_alive():  # a producer that waits for room in the queue is let through to see the flag
            with suppress(queue.Empty):
                items.get_nowait()
            thread.join(timeout=0.01)


def _run(make: Callable[[Stopped], Iterator[T]], items: queue.Queue[T | _End], stop: threading.Event) -> None:
    end = _End()
    try:
        for item in make(stop.is_set):
            items.put(item)
            if stop.is_set():
                return
    except BaseException as error:  # handed to the consumer, whatever it is
        end = _End(error)
    items.put(end)
