"""Inline markup from a text to its translation: around the words that belong to those that it was around."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

Range = tuple[int, int]
Links = Sequence[tuple[Range, Range]]
"""Pairs of a source word and a target word that belong together, each by the place of its characters."""


_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"[^\w\s]+"), re.compile(r"[^\w\s]+\Z")


@dataclass(frozen=True)
class Markup:
    """An element around `text[start:stop]`, or a tag that stands alone at a place; in the order of opening tags."""

    opening: str
    name: str | None
    """Of an element; None for a tag that stands alone."""
    start: int
    stop: int
    parent: int | None = None
    """The element that it is in, counted from 0 among the markup of its text."""
    closing: str = ""

    def within(self, length: int) -> Markup:
        """The same in a text of so many characters."""
        return replace(self, start=min(self.start, length), stop=min(self.stop, length))


@dataclass(frozen=True)
class _Word:
    """A word of the translation, and the source word that it belongs to."""

    start: int
    stop: int
    origin: Range


def place_markup(
    source: str,
    translation: str,
    markup: Sequence[Markup],
    links: Links,
    write: Callable[[str], str],
    whole: Sequence[Range] = (),
) -> str:
    """The translation with the source's markup in it; `write` turns plain text into markup.

    Every tag comes exactly once, and elements stay inside one another as they were; side by side, they may change
    places as the words do. No tag lands inside one of the stretches of the translation that are to stay `whole`.
    """
    placing = _Placing(source, translation, markup)
    origins = {target: origin for origin, target in links}
    words = [_Word(*target, origins[target]) for target in sorted(origins)]
    placing.place(None, (0, len(source)), (0, len(translation)), words)
    pieces, done = [], 0
    for place, html, behind in placing.placed:
        around = next((each for each in whole if each[0] < place < each[1]), (place, place))
        place = max(done, around[behind])
        pieces += [write(translation[done:place]) if place > done else "", html]
        done = place
    return "".join([*pieces, write(translation[done:])])


class _Placing:
    """Notes where each tag goes, from left to right."""

    def __init__(self, source: str, translation: str, markup: Sequence[Markup]) -> None:
        self._source, self._translation, self._markup = source, translation, markup
        self.placed: list[tuple[int, str, bool]] = []
        """Place, tag, and whether it belongs to what stands before it: all do but those that open an element."""
        self._inside: dict[int | None, list[int]] = {}
        for index in range(len(markup)):
            self._inside.setdefault(self._element_around(index), []).append(index)

    def place(self, parent: int | None, span: Range, room: Range, words: Sequence[_Word]) -> None:
        """Put what is inside an element, which was around a span of the source, into its room of the translation."""
        inside = [word for word in words if room[0] <= word.start and word.stop <= room[1]]
        children = self._inside.get(parent, [])
        rooms = {index: self._room_for(self._markup[index], span, room, inside) for index in children}
        free = room[0]
        for index in sorted(children, key=lambda index: (rooms[index][0], index)):
            markup, start = self._markup[index], max(rooms[index][0], free)
            free = max(start, rooms[index][1])
            self.placed.append((start, markup.opening, markup.name is None))
            if markup.name is not None:
                self.place(index, (markup.start, markup.stop), (start, free), inside)
                self.placed.append((free, markup.closing, True))

    def _element_around(self, index: int) -> int | None:
        parent = self._markup[index].parent
        while parent is not None and self._markup[parent].name is None:
            parent = self._markup[parent].parent
        return parent

    def _room_for(self, markup: Markup, span: Range, room: Range, words: Sequence[_Word]) -> Range:
        """The stretch of words with the most that belong to the markup and the fewest that do not."""
        own = self._source[markup.start : markup.stop]
        if own.strip() and own.strip() == self._source[slice(*span)].strip():
            return _trimmed(self._translation, room)
        best: Range | None = None
        gain = begin = best_gain = 0
        for index, word in enumerate(words):
            if gain <= 0:
                gain, begin = 0, index
            gain += 1 if markup.start <= word.origin[0] and word.origin[1] <= markup.stop else -1
            if gain > best_gain:
                best, best_gain = (words[begin].start, word.stop), gain
        if best is not None and own.strip():
            return self._with_its_marks(best, own.strip(), room)
        place = self._place_for(markup.start, span, room, words)
        return place, place

    def _place_for(self, start: int, span: Range, room: Range, words: Sequence[_Word]) -> int:
        """Where a tag without words goes: behind what belongs to the words in front of it."""
        if not self._source[start : span[1]].strip():
            return room[1]
        before = [word for word in words if word.origin[1] <= start]
        if not self._source[span[0] : start].strip() or not before:
            return room[0]
        return max(before, key=lambda word: (word.origin, word.stop)).stop

    def _with_its_marks(self, found: Range, own: str, room: Range) -> Range:
        """Marks at either end are left out where the source has none there, and taken in where it has the same."""
        text, (start, stop) = self._translation, found
        head, tail = _MARKS_BEFORE.match(own), _MARKS_AFTER.search(own)
        if head and start - len(head[0]) >= room[0] and text[:start].endswith(head[0]):
            start -= len(head[0])
        if tail and stop + len(tail[0]) <= room[1] and text.startswith(tail[0], stop):
            stop += len(tail[0])
        while stop - start > 1 and not text[stop - 1].isalnum() and own[-1].isalnum():
            stop -= 1
        while stop - start > 1 and not text[start].isalnum() and own[0].isalnum():
            start += 1
        return start, stop


def _trimmed(text: str, room: Range) -> Range:
    inner = text[slice(*room)]
    return room[0] + len(inner) - len(inner.lstrip()), room[1] - (len(inner) - len(inner.rstrip()))
