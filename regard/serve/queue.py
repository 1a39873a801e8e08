"""Who is served next: clients in turn, each with a few sentences, whatever else they still have waiting."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable

from regard.native.resident import Bell
from regard.serve.requests import Request, Slice

CHARACTERS_OF_A_TOKEN = 3
"""About as many; how many tokens a text has is known only when it is taken."""


class Place:
    """A worker's place at a queue: how much it has under way, and the bell that tells it of more."""

    def __init__(self) -> None:
        self.rows = 0
        self.bell = Bell()
        self.left_by_some = False
        """Whether some of those that it works for may no longer wait."""


class FairQueue:
    """Requests that wait, for the workers of one kind."""

    def __init__(self, workers: int, slice_sentences: int, batch_tokens: int) -> None:
        self.places = [Place() for _ in range(workers)]
        self._slice, self._batch_characters = slice_sentences, CHARACTERS_OF_A_TOKEN * batch_tokens
        self._clients: OrderedDict[Hashable, deque[Request]] = OrderedDict()
        self._changed = threading.Condition()
        self._idle = 0
        self._rows = 0
        self._closed = False
        self.sentences = 0
        """Those that wait."""

    def put(self, request: Request) -> None:
        """Let a request wait at the end of its client's row."""
        with self._changed:
            self._clients.setdefault(request.client, deque()).append(request)
            count = len(request.waiting)
            self._count(request, count)
            self._changed.notify(count)
            if count > self._idle:
                busy = sorted(self.places, key=lambda place: place.rows)
                for place in busy[: count - self._idle]:
                    place.bell.ring()

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

    def take(self, place: Place, room: int) -> list[Slice] | None:
        """The next sentences for a worker, some of each client in turn; None once the queue is closed.

        It has `room` for so many rows of hypotheses and takes no more than its share, so that others can begin with
        the rest. A worker that has nothing under way waits until there is something, and gets at least one sentence.
        """
        with self._changed:
            place.bell.reset()
            while not (place.rows or self._clients or self._closed):
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            if self._closed:
                return None
            share = -(-(self._rows + sum([other.rows for other in self.places])) // len(self.places)) - place.rows
            rows = max(min(room, share), 0 if place.rows else 1)
            characters = self._batch_characters
            slices: list[Slice] = []
            while self._clients and rows > 0 and characters > 0:
                taken, characters = self._take_slice(rows, characters)
                slices.append(taken)
                begun = len(taken.indices) * taken.request.rows
                rows -= begun
                place.rows += begun
            return slices

    def ring(self) -> None:
        """Have all workers look who of those under way no longer waits."""
        for place in self.places:
            place.left_by_some = True
            place.bell.ring()

    def close(self) -> None:
        """Let every worker know that it is over."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self.ring()

    def _take_slice(self, rows: int, characters: int) -> tuple[Slice, int]:
        """The next slice that fits, and what is left of the characters."""
        client, row = next(iter(self._clients.items()))
        request = row.popleft()
        waiting, texts = request.waiting, request.job.texts
        indices: list[int] = []
        while waiting and len(indices) < self._slice and (not indices or (rows > 0 and characters > 0)):
            index = waiting.popleft()
            indices.append(index)
            rows -= request.rows
            characters -= len(texts[index])
        self._count(request, -len(indices))
        if waiting:
            row.append(request)
        if row:
            self._clients.move_to_end(client)
        else:
            del self._clients[client]
        return Slice(request, indices), characters

    def _count(self, request: Request, sentences: int) -> None:
        self.sentences += sentences
        self._rows += sentences * request.rows
