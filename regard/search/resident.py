"""A translator that never closes: texts join those under way, are searched beside them, and leave as they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from regard.config import SearchConfig
from regard.native.resident import Bell, ResidentSearch
from regard.native.search import Prepared
from regard.search.native import Tasks, hypotheses
from regard.search.rules import check_best
from regard.search.watching import text_so_far

if TYPE_CHECKING:
    from regard.search.translator import Translation, Translator


MOST_WAYS = 256


class SearchWay:
    """A search and how many outputs are asked for, with what is made once for all texts that are searched so."""

    def __init__(self, translator: Translator, search: SearchConfig, best: int) -> None:
        check_best(best, search)
        packed = translator._packed(search)
        assert packed is not None
        self.search, self.best, self.packed = search, best, packed
        self.wanted = search.width if search.mbr else best
        self.tasks = Tasks(packed, search, self.wanted, translator.longest_target)


class Joined:
    """Texts that have joined a search; asked by the thread that runs it."""

    def __init__(self, translator: Translator, texts: Sequence[str], way: SearchWay, watched: bool = False) -> None:
        self._translator, self._way = translator, way
        encoded = translator.tokenizers.source.encode_batch(texts)
        sources = [translator._with_end_mark(source, line) for line, source in enumerate(encoded, start=1)]
        self.source_tokens = [len(source) for source in sources]
        self.prepared = Prepared(
            way.packed, sources, *way.tasks.of(self.source_tokens), unchanged=True, watched=watched
        )
        self._untold = list(range(len(sources)))

    @property
    def left(self) -> int:
        """How many are under way."""
        return self.prepared.left

    def ended(self) -> list[int]:
        """The numbers of the texts whose search has ended since this was last asked."""
        if self.prepared.left == len(self._untold):
            return []
        ended = self.prepared.ended
        fresh = [number for number in self._untold if ended[number]]
        self._untold = [number for number in self._untold if not ended[number]]
        return fresh

    def translations(self, number: int) -> list[Translation]:
        """What was found for a text whose search has ended, best first."""
        way = self._way
        found = hypotheses(self.prepared.outputs(number))
        return self._translator._ranked(found, way.search)[: way.best]

    def so_far(self) -> Iterator[tuple[int, str]]:
        """The text that each search under way holds for the best, where it is watched."""
        for number, ended in enumerate(self.prepared.ended):
            if not ended:
                yield number, text_so_far(self._translator, self.prepared.so_far(number))

    def give_up(self, number: int) -> None:
        """Let a text leave before its end; from any thread."""
        self.prepared.given_up[number] = 1


class ResidentTranslator:
    """Searches with one model, in one thread; its results are those of the `Translator`."""

    def __init__(self, translator: Translator, search: SearchConfig) -> None:
        packed = translator._packed(search)
        assert packed is not None
        self._translator, self._search = translator, ResidentSearch(packed)
        self._ways: dict[tuple[int, int], SearchWay] = {}
        self.left = 0
        """Texts under way."""

    @staticmethod
    def suits(translator: Translator, search: SearchConfig) -> bool:
        """Whether the engine in C does such a search with such a model."""
        return translator._packed(search) is not None

    def join(self, texts: Sequence[str], search: SearchConfig, best: int, watched: bool = False) -> Joined:
        """Let texts that are not blank take part; all with the same numbers (`search.compute`)."""
        joined = Joined(self._translator, texts, self._way(search, best), watched)
        self._search.join(joined.prepared)
        self.left += len(texts)
        return joined

    def _way(self, search: SearchConfig, best: int) -> SearchWay:
        key = (id(search), best)
        if key not in self._ways:
            if len(self._ways) >= MOST_WAYS:
                self._ways.clear()
            self._ways[key] = SearchWay(self._translator, search, best)
        return self._ways[key]

    def run(self, steps: int, bell: Bell, more: int = 0) -> None:
        """Go on for so many steps, or until a text's search ends or the bell rings, and `more` steps after that."""
        self.left = self._search.run(steps, bell, more)

    def close(self) -> None:
        """Give up what is under way."""
        self._search.close()
        self.left = 0
