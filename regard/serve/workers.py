"""Threads that take sentences from a queue and find what was asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regard.native.search import ROWS
from regard.serve.jobs import Batch
from regard.serve.queue import FairQueue, Place
from regard.serve.requests import Request, Slice


@dataclass(frozen=True)
class Desk:
    """To whom workers hand what they have; called from their threads."""

    found: Callable[[list[Request]], None]
    """All sentences of these requests are done."""
    grown: Callable[[list[Request]], None]
    """These are watched, and there is more of them to be seen."""
    failed: Callable[[Iterable[Request], Exception], None]
    """These cannot be done."""
    observed: Callable[[Batch], None]


class Worker(threading.Thread):
    """Does what the queue hands out; what fails is handed back as failed, and the worker goes on."""

    def __init__(self, name: str, queue: FairQueue, place: Place, desk: Desk) -> None:
        super().__init__(name=f"regard-{name}", daemon=True)
        self.queue, self.place, self.desk = queue, place, desk

    def run(self) -> None:
        while self._take_turn():
            pass
        self.give_up()

    def _take_turn(self) -> bool:
        """Do what the queue hands out next; False where it is closed. Nothing of it is held on to while waiting."""
        slices = self.queue.take(self.place, ROWS - self.place.rows)
        if slices is None:
            return False
        try:
            self.work([each for each in slices if not each.request.given_up])
        except Exception as error:
            self.desk.failed(self.give_up() | {each.request for each in slices}, error)
        self.place.rows = self.rows_under_way()
        return True

    def work(self, slices: list[Slice]) -> None:
        """Do some slices, of any requests, or begin with them; and go on with what was begun."""
        raise NotImplementedError

    def rows_under_way(self) -> int:
        """Hypotheses of what was begun and goes on."""
        return 0

    def give_up(self) -> set[Request]:
        """Forget what is under way; gives whose it was."""
        return set()


class SideWorker(Worker):
    """Does what is not a plain search: terms and spans, and alignments."""

    def work(self, slices: list[Slice]) -> None:
        for each in slices:
            try:
                self._finish(each.request, each.indices)
                if each.request.count_off(len(each.indices)):
                    self.desk.found([each.request])
            except Exception as error:
                self.desk.failed([each.request], error)

    def _finish(self, request: Request, indices: list[int]) -> None:
        if request.job.controlled:
            found = request.controls.translate([request.job.texts[index] for index in indices], **request.way.options)
            for index, controlled in zip(indices, found, strict=True):
                request.controlled[index] = controlled
                request.put(index, [controlled.translation])
            if request.watched:
                self.desk.grown([request])
        if request.job.alignment:
            request.align(indices)
