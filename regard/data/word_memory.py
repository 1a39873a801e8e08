"""Words met before, with their ids: few words make up most of any text, and to look one up is faster than to cut it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

MOST_CHARACTERS = 2**17
"""Of the words that are remembered, about 20,000; beyond it all are forgotten."""


class WordMemory:
    """Encodes texts word by word. `cut` gives the ids of texts, and is asked for those of new words.

    It puts one space before a text that is not empty, and no token holds a space but as its first character: so the
    ids of a text are those of its words, one after the other. Any thread may use it.
    """

    def __init__(self, cut: Callable[[Sequence[str]], list[list[int]]]) -> None:
        self._cut = cut
        self._space = tuple(cut([" "])[0][1:])  # by itself: what was cut are two of them
        self._forget()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        known = self._known
        try:
            return _looked_up(texts, known)
        except KeyError:
            self._learn({word for text in texts for word in text.split(" ") if word not in known}, known)
            return _looked_up(texts, known)

    def _learn(self, words: Iterable[str], known: dict[str, tuple[int, ...]]) -> None:
        new = list(words)
        known.update(zip(new, map(tuple, self._cut(new)), strict=True))
        self._characters += sum(map(len, new))
        if self._characters > MOST_CHARACTERS:
            self._forget()

    def _forget(self) -> None:
        self._characters = 0
        self._known = {"": self._space}  # another dictionary, since somebody may be looking words up in the old one


def _looked_up(texts: Sequence[str], known: dict[str, tuple[int, ...]]) -> list[list[int]]:
    return [list(chain.from_iterable(map(known.__getitem__, text.split(" ")))) if text else [] for text in texts]
