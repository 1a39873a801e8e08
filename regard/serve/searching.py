"""The workers that search: sentences of all requests side by side, joining as they come and leaving as they end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from regard.search.resident import Joined, ResidentTranslator
from regard.search.translator import EMPTY, Translation
from regard.search.watching import translate_watched
from regard.serve.jobs import Batch
from regard.serve.requests import Request, Slice, Way
from regard.serve.routing import Served
from regard.serve.workers import Worker

FOR_LONG = 2**30
SHARED_STEPS = 4
"""Steps after which it is another model's turn."""
CROWD, CROWD_STEPS = 8, 6
"""With so many sentences under way, one that ends or comes waits for so many steps, in which others do the same."""

Sentence = tuple[Request, int]
Found = tuple[Request, int, list[Translation]]


class Passage(NamedTuple):
    """Sentences that joined together, and whose they are."""

    joined: Joined
    sentences: list[Sentence]
    watched: bool


class Carriage:
    """One model's search in one thread, and who is in it."""

    def __init__(self, way: Way) -> None:
        self.served = way.served
        self.resident = ResidentTranslator(way.served.translator, way.search)
        self.passages: list[Passage] = []
        self.rows = 0
        """Hypotheses under way."""
        self.seconds = 0.0
        """Searched since somebody was told of it."""

    def join(self, way: Way, sentences: list[Sentence], watched: bool) -> None:
        texts = [request.job.texts[index] for request, index in sentences]
        joined = self.resident.join(texts, way.search, way.best, watched)
        self.passages.append(Passage(joined, sentences, watched))
        self.rows += len(sentences) * way.search.width

    def requests(self) -> set[Request]:
        return {request for passage in self.passages for request, _ in passage.sentences}

    def let_go(self) -> None:
        """Those for whom nobody waits any more may leave."""
        for passage in self.passages:
            for number, (request, _) in enumerate(passage.sentences):
                if request.given_up:
                    passage.joined.give_up(number)


class SearchWorker(Worker):
    """Keeps the engine in C busy; models and searches that it does not know are translated batch by batch."""

    _carriages: dict[tuple[int, str], Carriage]

    def run(self) -> None:
        self._carriages = {}
        super().run()

    def work(self, slices: list[Slice]) -> None:
        for way, watched, sentences in _sorted_out(slices):
            self._begin_all(way, watched, sentences)
        if self.place.left_by_some:
            self.place.left_by_some = False
            for carriage in self._carriages.values():
                carriage.let_go()
        busy = [carriage for carriage in self._carriages.values() if carriage.passages]
        for carriage in busy:
            self._go_on(carriage, FOR_LONG if len(busy) == 1 else SHARED_STEPS)

    def rows_under_way(self) -> int:
        return sum([carriage.rows for carriage in self._carriages.values()])

    def give_up(self) -> set[Request]:
        requests: set[Request] = set()
        for carriage in self._carriages.values():
            requests |= carriage.requests()
            carriage.resident.close()
        self._carriages = {}
        return requests

    def _begin_all(self, way: Way, watched: bool, sentences: list[Sentence]) -> None:
        """Begin with sentences together; where that fails, with each request by itself, so that only one fails."""
        try:
            self._begin(way, watched, sentences)
        except Exception as error:
            owners = list(dict.fromkeys(request for request, _ in sentences))
            if len(owners) == 1:
                self.desk.failed(owners, error)
                return
            for owner in owners:
                self._begin_all(way, watched, [each for each in sentences if each[0] is owner])

    def _begin(self, way: Way, watched: bool, sentences: list[Sentence]) -> None:
        if not way.resident:
            self._translate(way, watched, sentences)
            return
        filled = [each for each in sentences if _text(each).strip()]
        if filled:
            key = (id(way.served), way.search.compute)
            if key not in self._carriages:
                self._carriages[key] = Carriage(way)
            self._carriages[key].join(way, filled, watched)
        if len(filled) < len(sentences):
            self._hand_over([(*each, [EMPTY]) for each in sentences if not _text(each).strip()])

    def _go_on(self, carriage: Carriage, steps: int) -> None:
        """Search until something ends, or for so many steps, and hand over what there is."""
        together, began = carriage.resident.left, time.monotonic()
        watched = any(passage.watched for passage in carriage.passages)
        more = CROWD_STEPS if together >= CROWD else 0
        carriage.resident.run(1 if watched else steps, self.place.bell, more)
        carriage.seconds += time.monotonic() - began
        found: list[Found] = []
        source_tokens = 0
        for passage in carriage.passages:
            for number in passage.joined.ended():
                request, index = passage.sentences[number]
                source_tokens += passage.joined.source_tokens[number]
                carriage.rows -= request.rows
                if not request.given_up:
                    try:
                        found.append((request, index, passage.joined.translations(number)))
                    except Exception as error:
                        self.desk.failed([request], error)
            if passage.watched:
                self._show(passage)
        carriage.passages = [passage for passage in carriage.passages if passage.joined.left]
        if found:
            self._hand_over(found)
            self._tell(carriage.served, together, found, source_tokens, carriage.seconds)
            carriage.seconds = 0.0

    def _translate(self, way: Way, watched: bool, sentences: list[Sentence]) -> None:
        """A batch by itself."""
        began, translator = time.monotonic(), way.served.translator
        texts = [_text(each) for each in sentences]

        def show(number: int, text: str) -> None:
            request, index = sentences[number]
            request.partial[index] = text
            self.desk.grown([request])

        if watched:
            translations = translate_watched(translator, texts, show, way.best, **way.options)
        else:
            translations = translator.translate_nbest(texts, way.best, **way.options)
        found = [(*each, own) for each, own in zip(sentences, translations, strict=True)]
        self._hand_over(found)
        source_tokens = sum(map(len, translator.tokenizers.source.encode_batch(texts)))
        self._tell(way.served, len(found), found, source_tokens, time.monotonic() - began)

    def _show(self, passage: Passage) -> None:
        for number, text in passage.joined.so_far():
            request, index = passage.sentences[number]
            request.partial[index] = text
        self.desk.grown([request for request in {request for request, _ in passage.sentences} if not request.given_up])

    def _hand_over(self, found: list[Found]) -> None:
        for request, index, translations in found:
            request.put(index, translations)
        self.desk.found([request for request, _, _ in found if request.count_off(1)])

    def _tell(self, served: Served, together: int, found: list[Found], source_tokens: int, seconds: float) -> None:
        target_tokens = sum([len(own[0].tokens) + own[0].finished for _, _, own in found])
        self.desk.observed(Batch(served.languages, together, len(found), source_tokens, target_tokens, seconds))


def _text(sentence: Sentence) -> str:
    request, index = sentence
    return request.job.texts[index]


def _sorted_out(slices: list[Slice]) -> Iterator[tuple[Way, bool, list[Sentence]]]:
    """Sentences that can be searched in the same way, together."""
    groups: dict[tuple[Way, bool], list[Sentence]] = {}
    for each in slices:
        group = groups.setdefault((each.request.way, each.request.watched), [])
        group += [(each.request, index) for index in each.indices]
    for (way, watched), sentences in groups.items():
        yield way, watched, sentences
