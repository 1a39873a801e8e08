"""Who is served next: clients in turn, each with a few sentences, whatever else they still have waiting."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable

from regard.serve.requests import Request, Slice

CHARACTERS_OF_A_TOKEN = 3
"""About as many; how many tokens a text has is known only when it is taken."""


class FairQueue:
    """Requests that wait, for the threads of one kind of work."""

    def __init__(self, workers: int, slice_sentences: int, batch_tokens: int) -> None:
        self._workers, self._slice = workers, slice_sentences
        self._batch_characters = CHARACTERS_OF_A_TOKEN * batch_tokens
        self._clients: OrderedDict[Hashable, deque[Request]] = OrderedDict()
        self._changed = threading.Condition()
        self._rows_waiting = 0
        self._closed = False
        self.sentences = 0
        """Those that wait."""

    def put(self, request: Request) -> None:
        """Let a request wait at the end of its client's row."""
        with self._changed:
            self._clients.setdefault(request.client, deque()).append(request)
            self._count(request, len(request.waiting))
            self._changed.notify(1 if len(request.waiting) == 1 else self._workers)

    def remove(self, request: Request) -> None:
        """Forget what of a request still waits."""
        with self._changed:
            row = self._clients.get(request.client)
            if row is None or request not in row:
                return
            row.remove(request)
            if not row:
                del self._clients[request.client]
            self._count(request, -len(request.waiting))
            request.waiting.clear()

    def take(self, room: int, wait: bool) -> list[Slice] | None:
        """The next sentences, some of each client in turn, of at most `room` rows; None once the queue is closed.

        At least one is taken, if any waits. No worker takes more than its share, so that others can begin with the rest.
        """
        with self._changed:
            while wait and not self._clients and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            rows = min(room, max(1, -(-self._rows_waiting // self._workers)))
            characters = self._batch_characters
            slices: list[Slice] = []
            while self._clients and rows > 0 and characters > 0:
                taken = self._take_slice(rows, characters)
                slices.append(taken)
                rows -= len(taken.indices) * taken.request.way.search.width
                characters -= sum(len(taken.request.job.texts[index]) for index in taken.indices)
            return slices

    def close(self) -> None:
        """Let every worker know that it is over."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take_slice(self, rows: int, characters: int) -> Slice:
        client, row = next(iter(self._clients.items()))
        request = row[0]
        width = request.way.search.width
        indices: list[int] = []
        while request.waiting and len(indices) < self._slice and (not indices or (rows >= width and characters > 0)):
            index = request.waiting.popleft()
            indices.append(index)
            rows -= width
            characters -= len(request.job.texts[index])
        self._count(request, -len(indices))
        row.popleft()
        if request.waiting:
            row.append(request)
        if row:
            self._clients.move_to_end(client)
        else:
            del self._clients[client]
        return Slice(request, indices)

    def _count(self, request: Request, sentences: int) -> None:
        self.sentences += sentences
        self._rows_waiting += sentences * request.way.search.width
