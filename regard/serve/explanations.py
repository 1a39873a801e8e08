"""Explanations on request: made one at a time, beside the searches, for a few who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regard.errors import RegardError
from regard.serve.jobs import Busy, TookTooLong, WorkerFailed
from regard.serve.routing import Served

Explain = Callable[[Served, str, str | None, int | None], dict[str, Any]]
FIRST_GUESS, FADING = 1.0, 0.7


def explain_sentence(served: Served, source: str, target: str | None, beam: int | None) -> dict[str, Any]:
    """The explanation of a sentence, or of a pair."""
    from regard.explain.explanation import explain_pair  # which loads more than a service that is never asked needs

    explanation: dict[str, Any] = explain_pair(served.translator, source, target, beam=beam).to_json()
    return explanation


class Explanations:
    """At most `most` wait or are under way; more are refused."""

    def __init__(self, most: int, seconds: float, explain: Explain = explain_sentence) -> None:
        self._most, self._limit, self._explain = most, seconds, explain
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="regard-explain")
        self._each = FIRST_GUESS
        self._closed = False
        self.count = 0

    async def explain(self, served: Served, source: str, target: str | None, beam: int | None) -> dict[str, Any]:
        """One explanation; whoever is cancelled while it waits leaves the queue."""
        if self._closed or self.count >= self._most:
            raise Busy(max(1.0, self.count * self._each))
        loop = asyncio.get_running_loop()
        future = self._executor.submit(self._explain, served, source, target, beam)
        self.count += 1
        future.add_done_callback(lambda _: self._leave(loop))
        began = loop.time()
        try:
            async with asyncio.timeout(self._limit):
                found = await asyncio.wrap_future(future)
        except TimeoutError:
            raise TookTooLong(f"not explained within {self._limit:g} s; try a shorter sentence, or later") from None
        except asyncio.CancelledError:
            if self._closed and future.cancelled():
                raise Busy(max(1.0, self.count * self._each)) from None
            raise
        except RegardError:
            raise
        except Exception as error:
            raise WorkerFailed("something went wrong with this explanation; the server's log says more") from error
        self._each = FADING * self._each + (1 - FADING) * (loop.time() - began)
        return found

    def close(self) -> None:
        """Refuse more, and give up those that wait."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """One place is free, when the work has ended, even if nobody waited for it any more."""

        def free() -> None:
            self.count -= 1

        try:
            loop.call_soon_threadsafe(free)
        except RuntimeError:  # the loop has been closed
            return
