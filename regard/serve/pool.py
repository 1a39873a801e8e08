"""The pool: jobs of many clients in, answers out; batches are shared, places are counted, nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import torch

from regard.errors import InputError, RegardError
from regard.hardware import available_cores
from regard.serve.explanations import Explanations
from regard.serve.faults import log_fault
from regard.serve.jobs import (
    Answer,
    Batch,
    Busy,
    Job,
    Observer,
    Pair,
    PoolSettings,
    Progress,
    Statistics,
    TookTooLong,
    WorkerFailed,
)
from regard.serve.pace import Pace
from regard.serve.queue import FairQueue
from regard.serve.requests import Request, Stage, Ways
from regard.serve.routing import Served
from regard.serve.searching import SearchWorker
from regard.serve.workers import Desk, SideWorker, Worker

STOPPING = 5.0
"""Seconds after which somebody who is refused by a pool that stops may look whether there is another one."""
SEARCH_SLICE, SIDE_SLICE = 1, 4
"""Sentences of one job that are taken before it is another's turn; at the side, all of a slice are done in one call."""
SIDE_TOKENS = 256
"""Source tokens that a worker at the side takes up at once: it is slow, and does not look up until it has done them."""
WARM_TEXT = "1, 2, 3."


class Pool:
    """Translates for many clients at once; all its methods are for the event loop that started it."""

    def __init__(self, served: Mapping[Pair, Served], settings: PoolSettings | None = None) -> None:
        self.served = served
        self.settings = settings = settings or PoolSettings()
        self.workers = settings.workers or available_cores()
        self._ways = Ways()
        self._requests: set[Request] = set()
        self._sentences = self._characters = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self._stopping = False
        self._observers: list[Observer] = []
        self._pace = Pace(self.workers)
        self._threads_before = torch.get_num_threads()
        self._search = FairQueue(self.workers, SEARCH_SLICE, settings.batch_tokens)
        side_tokens = min(SIDE_TOKENS, settings.batch_tokens)
        self._queues = {
            Stage.SEARCH: self._search,
            Stage.CONTROL: FairQueue(1, SIDE_SLICE, side_tokens),
            Stage.ALIGNMENT: FairQueue(1, SIDE_SLICE, side_tokens),
        }
        self._explanations = Explanations(settings.explanations, settings.seconds)
        desk = Desk(self._found, self._grown, self._failed, self._observed)
        self._threads: list[Worker] = [
            *(SearchWorker(f"search-{n}", self._search, place, desk) for n, place in enumerate(self._search.places)),
            *(
                SideWorker(stage.value, self._queues[stage], self._queues[stage].places[0], desk)
                for stage in (Stage.CONTROL, Stage.ALIGNMENT)
            ),
        ]

    async def start(self) -> None:
        """Get every model ready by translating with it, then let the workers begin."""
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(1)  # threads that wait for each other at every product are slower than one
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the same, for a few sentences
        for served in self.served.values():
            await asyncio.to_thread(served.translator.translate, [WARM_TEXT])
        for thread in self._threads:
            thread.start()

    async def stop(self, grace: float = 10.0) -> None:
        """Take on nothing more, finish what was taken on within `grace` seconds, and give up the rest."""
        self._stopping = True
        try:
            async with asyncio.timeout(grace):
                await self._empty.wait()
        except TimeoutError:
            for request in list(self._requests):
                self._fail(request, Busy(STOPPING, "the server stops"))
        self._explanations.close()
        for queue in self._queues.values():
            queue.close()
        for thread in self._threads:
            if thread.is_alive():
                await asyncio.to_thread(thread.join, STOPPING)
        torch.set_num_threads(self._threads_before)

    async def translate(self, pair: Pair, job: Job, *, client: Hashable | None = None) -> Answer:
        """The answer to a job. Jobs of one `client` take turns among themselves; None: this one is its own.

        Raises Busy where there is no room, TookTooLong after the time for one job, InputError for what the model
        cannot do, WorkerFailed where something broke. Whoever is cancelled while waiting gives up the place.
        """
        request = self.begin(pair, job, client=client)
        try:
            return await request.answer
        finally:
            self.end(request)

    async def watch(
        self, pair: Pair, jobs: Sequence[Job], *, client: Hashable | None = None
    ) -> AsyncIterator[list[Progress]]:
        """How translations grow: where each job is, whenever one of them changes; at the end all have their answers."""
        changed = asyncio.Event()
        requests: list[Request] = []
        try:
            for job in jobs:
                requests.append(self.begin(pair, job, client=client, watcher=changed))
            told: list[Progress] = []
            while not all(request.answer.done() for request in requests):
                await changed.wait()
                changed.clear()
                progress = [request.progress() for request in requests]
                if progress != told and any(each.answer is None for each in progress):
                    told = progress
                    yield progress
            yield [request.progress() for request in requests]
        finally:
            for request in requests:
                self.end(request)

    async def explain(
        self, pair: Pair, source: str, target: str | None = None, beam: int | None = None
    ) -> dict[str, Any]:
        """The explanation of a sentence, as JSON can have it; one is made at a time."""
        if self._stopping:
            raise Busy(STOPPING, "the server stops")
        return await self._explanations.explain(self._model(pair), source, target, beam)

    def observe(self, observer: Observer) -> None:
        """Let somebody hear of every batch, from the thread that did it."""
        self._observers.append(observer)

    @property
    def statistics(self) -> Statistics:
        """What there is to do now."""
        return Statistics(
            jobs=len(self._requests),
            sentences=self._sentences,
            characters=self._characters,
            waiting=sum(queue.sentences for queue in self._queues.values()),
            explanations=self._explanations.count,
        )

    def _model(self, pair: Pair) -> Served:
        if pair not in self.served:
            raise InputError(f"there is no model from {pair.source!r} to {pair.target!r} here")
        return self.served[pair]

    def begin(
        self, pair: Pair, job: Job, *, client: Hashable | None = None, watcher: asyncio.Event | None = None
    ) -> Request:
        """Take on a job, which holds its places until it is ended, however it ends; for the rest see `translate`.

        A `watcher` is told whenever there is more to be seen of it.
        """
        served = self._model(pair)
        request = Request(served, job, self._ways.of(served, job), client, watcher)
        self.check_room(request.size, request.characters)
        self._requests.add(request)
        self._sentences += request.size
        self._characters += request.characters
        self._empty.clear()
        request.late = request.loop.call_later(self.settings.seconds, self._be_late, request)
        if request.size:
            self._queues[request.stage].put(request)
        else:
            request.answer.set_result(request.result())
        return request

    def end(self, request: Request) -> None:
        """Free the places of a request; what is not done of it is given up."""
        request.late.cancel()
        if request.answer.done() and not request.answer.cancelled():
            request.answer.exception()  # looked at, or the loop complains of an error that nobody waits for
        self._requests.remove(request)
        self._sentences -= request.size
        self._characters -= request.characters
        if request.left:
            request.given_up = True
            self._queues[request.stage].remove(request)
            self._search.ring()
        if not self._requests:
            self._empty.set()

    def check_room(self, sentences: int, characters: int) -> None:
        """Refuse what the pool cannot take on now: Busy; or could at no time: InputError."""
        settings = self.settings
        if sentences > settings.queue_sentences or characters > settings.queue_characters:
            raise InputError(
                f"{sentences:,} sentences of {characters:,} characters are more than the "
                f"{settings.queue_sentences:,} and {settings.queue_characters:,} that are taken on at once; send fewer"
            )
        if self._stopping:
            raise Busy(STOPPING, "the server stops")
        if (
            self._sentences + sentences > settings.queue_sentences
            or self._characters + characters > settings.queue_characters
        ):
            raise Busy(self._pace.seconds_for(self._sentences))

    def _be_late(self, request: Request) -> None:
        seconds = self.settings.seconds
        self._fail(request, TookTooLong(f"not done within {seconds:g} s; send less at a time, or try again later"))

    def _observed(self, batch: Batch) -> None:
        self._pace.add(batch.sentences, batch.seconds)
        for observer in self._observers:
            try:
                observer(batch)
            except Exception as error:
                log_fault(error)

    def _found(self, requests: list[Request]) -> None:
        """From a worker: these are complete, but for alignments perhaps."""
        done = []
        for request in requests:
            if request.job.alignment and request.stage is Stage.SEARCH:
                request.to_alignment()
                self._queues[request.stage].put(request)
            else:
                done.append(request)
        self._on_loop(self._answer, done)

    def _grown(self, requests: list[Request]) -> None:
        self._on_loop(Request.tell_watcher, requests)

    def _failed(self, requests: Iterable[Request], error: Exception) -> None:
        """From a worker: these cannot be done."""
        if not isinstance(error, RegardError):
            log_fault(error)
            failure = WorkerFailed("something went wrong with this translation; the server's log says more")
            failure.__cause__ = error
            error = failure
        self._on_loop(lambda request: self._fail(request, error), list(requests))

    def _on_loop(self, action: Callable[[Request], object], requests: list[Request]) -> None:
        """Have something done with requests where those who wait for them are."""
        if requests:
            try:
                requests[0].loop.call_soon_threadsafe(lambda: [action(request) for request in requests])
            except RuntimeError:  # the loop has been closed, and nobody waits any more
                return

    def _answer(self, request: Request) -> None:
        if not request.answer.done():
            request.answer.set_result(request.result())
            request.tell_watcher()

    def _fail(self, request: Request, error: Exception) -> None:
        if request in self._requests and not request.answer.done():
            request.answer.set_exception(error)
            request.tell_watcher()
