"""A job on its way through the pool: what of it waits, what is found, and who is to be told."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from regard.config import SearchConfig
from regard.search.alignment import Aligner, Alignment
from regard.search.control import ControlledTranslator
from regard.search.control_report import ControlledTranslation
from regard.search.options import SearchOptions, search_config
from regard.search.resident import ResidentTranslator
from regard.search.rules import check_best
from regard.search.texts import check_texts
from regard.search.translator import Translation
from regard.serve.jobs import Answer, Job, Progress
from regard.serve.routing import Served
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder


class Stage(Enum):
    """Whose hands a request is in."""

    SEARCH = "search"
    CONTROL = "control"
    """The slower search for terms and spans, and the alignments of what it finds."""
    ALIGNMENT = "alignment"
    """Of what the plain search has found."""


@dataclass(frozen=True, eq=False)
class Way:
    """How sentences are searched; those of one model and one way can share a call."""

    served: Served
    search: SearchConfig
    best: int
    resident: bool
    """Whether sentences can join a search under way."""

    @property
    def options(self) -> SearchOptions:
        """What must be asked of the model's translator for this search."""
        return {"beam": None if self.search.sampling else self.search.beam}


class Ways:
    """The ways that have been asked for, each checked and made once."""

    MOST = 256

    def __init__(self) -> None:
        self._ways: dict[tuple[int, int, int | None], Way] = {}

    def of(self, served: Served, job: Job) -> Way:
        """The way of a job; raises InputError where the model cannot do it."""
        key = (id(served), 1 if job.controlled else job.best, job.beam)
        way = self._ways.get(key)
        if way is None:
            if len(self._ways) >= self.MOST:
                self._ways.clear()
            way = self._ways[key] = self._make(served, *key[1:])
        return way

    def _make(self, served: Served, best: int, beam: int | None) -> Way:
        own = served.translator.config.search
        if beam is None and not own.sampling and best > own.beam:
            beam = best
        search = search_config(own, {"beam": beam})
        check_best(best, search)
        return Way(served, search, best, ResidentTranslator.suits(served.translator, search))


class Request:
    """One job, from the moment it is taken on until somebody has its answer or no longer wants it.

    `answer` and the watcher belong to the event loop, the rest to workers; each sentence is in the hands of one.
    """

    def __init__(self, served: Served, job: Job, way: Way, client: Hashable, watcher: asyncio.Event | None) -> None:
        check_texts(job.texts)
        self.served, self.job, self.way = served, job, way
        self.client: Hashable = object() if client is None else client  # not itself: nobody would free a circle
        self._watcher = watcher
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Answer] = self.loop.create_future()
        self.late: asyncio.TimerHandle
        """When it is due to have failed."""
        self.size, self.characters = len(job.texts), job.characters
        self.rows = way.search.width
        """Hypotheses that a sentence keeps going."""
        self.partial = [""] * self.size
        self.translations: list[list[Translation]] = [[]] * self.size
        self.alignments: list[list[Alignment]] = [[]] * self.size
        self.controlled: list[ControlledTranslation | None] = [None] * self.size
        self.waiting: deque[int] = deque(range(self.size))
        self.left = self.size
        self._counting = threading.Lock()
        self.stage = Stage.CONTROL if job.controlled else Stage.SEARCH
        self.given_up = False

    @property
    def watched(self) -> bool:
        return self._watcher is not None

    def tell_watcher(self) -> None:
        """There is more to be seen."""
        if self._watcher is not None:
            self._watcher.set()

    def progress(self) -> Progress:
        """How far it is; raises what it failed with."""
        if not self.answer.done():
            return Progress(tuple(self.partial))
        answer = self.answer.result()
        return Progress(tuple(found[0].text for found in answer.translations), answer)

    def to_alignment(self) -> None:
        """Let all sentences wait once more, for their alignments."""
        self.stage = Stage.ALIGNMENT
        self.waiting, self.left = deque(range(self.size)), self.size

    def put(self, index: int, translations: list[Translation]) -> None:
        """What was found for one sentence."""
        self.translations[index], self.partial[index] = translations, translations[0].text

    def count_off(self, sentences: int) -> bool:
        """So many more are done; gives whether all are."""
        with self._counting:
            self.left -= sentences
            return self.left == 0

    @cached_property
    def controls(self) -> ControlledTranslator:
        glossary = Glossary.of(self.job.glossary) if self.job.glossary else None
        spans = SpanFinder() if self.job.keep_spans else None
        return ControlledTranslator(self.served.translator, glossary, spans, lambda: not self.given_up)

    @cached_property
    def aligner(self) -> Aligner:
        return Aligner(self.served.translator)

    def align(self, indices: Sequence[int]) -> None:
        """Align all translations of some sentences, in one call."""
        pairs = [(index, translation.text) for index in indices for translation in self.translations[index]]
        found = self.aligner.align([self.job.texts[index] for index, _ in pairs], [text for _, text in pairs])
        for index in indices:
            self.alignments[index] = []
        for (index, _), alignment in zip(pairs, found, strict=True):
            self.alignments[index].append(alignment)

    def result(self) -> Answer:
        """The answer, once all is found."""
        controlled = [each for each in self.controlled if each is not None]
        return Answer(
            self.translations,
            self.alignments if self.job.alignment else None,
            controlled if self.job.controlled else None,
        )


class Slice(NamedTuple):
    """Some sentences of a request."""

    request: Request
    indices: list[int]
