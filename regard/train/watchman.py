"""A watch over the processes that a leader has started: one that has died does not keep it waiting for ever.

A death mostly breaks the engine's connection, and the leader is told at once. Rarely nobody tells it: it waits for
an answer that will not come, inside a library that cannot be interrupted.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import Popen

from regard.errors import LostProcessError

PATIENCE_SECONDS = 30.0
"""Between a death and the moment when a leader that has not left by itself is made to."""
LOOK_SECONDS = 0.5


def death_of(worker: Popen[bytes]) -> LostProcessError:
    """What there is to say of a process that has died."""
    return LostProcessError(
        f"process {worker.pid} of this run has died: the same command goes on from the last checkpoint"
    )


def leave_at_once(error: LostProcessError) -> None:
    """End this process from any thread, as the command line would have ended it."""
    print(f"regard: error: {error}", file=sys.stderr, flush=True)
    os._exit(2)


@contextmanager
def watched(
    workers: Sequence[Popen[bytes]],
    patience: float = PATIENCE_SECONDS,
    leave: Callable[[LostProcessError], None] = leave_at_once,
) -> Iterator[None]:
    """Inside, leave when one of the processes has been dead for `patience` seconds; an exit code of 0 is no death."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            lost = next((worker for worker in workers if worker.poll() not in (None, 0)), None)
            if lost is not None:
                if not over.wait(patience):
                    leave(death_of(lost))
                return

    thread = threading.Thread(target=watch, name="regard-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
