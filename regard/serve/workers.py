"""Threads that take sentences from a queue and find what was asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.native.search import ROWS
from regard.search.translator import Translation
from regard.serve.jobs import Batch, Observer
from regard.serve.queue import FairQueue
from regard.serve.requests import Request, Slice, Way


@dataclass(frozen=True)
class Desk:
    """To whom workers hand what they are done with; called from their threads."""

    found: Callable[[list[Request]], None]
    """All sentences of these requests are done."""
    failed: Callable[[Request, BaseException], None]
    observed: Observer


class Worker(threading.Thread):
    """Does one slice after the other; what fails is handed back as failed, and the worker goes on."""

    def __init__(self, name: str, queue: FairQueue, desk: Desk) -> None:
        super().__init__(name=f"regard-{name}", daemon=True)
        self.queue, self.desk = queue, desk

    def run(self) -> None:
        while (slices := self.queue.take(ROWS, wait=True)) is not None:
            self.work([slice_ for slice_ in slices if not slice_.request.given_up])

    def work(self, slices: list[Slice]) -> None:
        """Do some slices, of any requests."""
        raise NotImplementedError

    def attempt(self, slices: Sequence[Slice], action: Callable[[], None]) -> bool:
        """Do something for slices; whatever is wrong with it is told to those who wait for them."""
        try:
            action()
        except Exception as error:
            for slice_ in slices:
                self.desk.failed(slice_.request, error)
            return False
        return True

    def close_off(self, slices: Sequence[Slice]) -> None:
        """These slices are done; hand over the requests that are complete by that."""
        complete = []
        for slice_ in slices:
            slice_.request.left -= len(slice_.indices)
            if not slice_.request.left:
                complete.append(slice_.request)
        if complete:
            self.desk.found(complete)


class BatchWorker(Worker):
    """Translates batches with the models' translators, one batch after the other."""

    def work(self, slices: list[Slice]) -> None:
        ways: dict[Way, list[Slice]] = {}
        for slice_ in slices:
            ways.setdefault(slice_.request.way, []).append(slice_)
        for way, own in ways.items():
            if self.attempt(own, lambda way=way, own=own: self._translate(way, own)):  # type: ignore[misc]
                self.close_off(own)

    def _translate(self, way: Way, slices: Sequence[Slice]) -> None:
        began = time.monotonic()
        texts = [slice_.request.job.texts[index] for slice_ in slices for index in slice_.indices]
        found = iter(way.served.translator.translate_nbest(texts, way.best, **way.options))
        tokens = 0
        for slice_ in slices:
            for index in slice_.indices:
                translations: list[Translation] = next(found)
                slice_.request.translations[index] = translations
                slice_.request.partial[index] = translations[0].text
                tokens += len(translations[0].tokens) + translations[0].finished
        pair, count = way.served.languages, len(texts)
        self.desk.observed(Batch(pair, count, count, 0, tokens, time.monotonic() - began))


class SideWorker(Worker):
    """Does what is not a plain search: terms and spans, and alignments."""

    def work(self, slices: list[Slice]) -> None:
        for slice_ in slices:
            if self.attempt([slice_], lambda slice_=slice_: self._finish(slice_)):  # type: ignore[misc]
                self.close_off([slice_])

    def _finish(self, slice_: Slice) -> None:
        request, indices = slice_.request, slice_.indices
        if request.job.controlled:
            found = request.controls.translate([request.job.texts[index] for index in indices], **request.way.options)
            for index, controlled in zip(indices, found, strict=True):
                request.controlled[index] = controlled
                request.translations[index] = [controlled.translation]
                request.partial[index] = controlled.text
        if request.job.alignment:
            request.align(indices)
