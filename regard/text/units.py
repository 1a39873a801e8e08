"""Words in running text: where they begin and end, in scripts with spaces and without."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from regard.data.scripts import RANGES

UNSPACED_SCRIPTS = ("Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar")
_UNSPACED = "".join(f"{chr(low)}-{chr(high)}" for script in UNSPACED_SCRIPTS for low, high in RANGES[script])
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_UNIT = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[\w\u0300-\u036f])+|[^\w\s]")

JOINING_MARKS = "-‐‑‒–"
"""Hyphens and dashes, which make one word of two."""

LONGEST_ENDING = 3
"""Letters that may follow a term which may be inflected."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, a mark, or a character of a script without spaces: `text[start:stop]`."""

    text: str
    start: int
    stop: int


def units(text: str) -> list[Unit]:
    """The words and marks of a text, in order; white space is between them."""
    return [Unit(found.group(), found.start(), found.end()) for found in _UNIT.finditer(text)]


def is_unspaced(character: str) -> bool:
    """Whether it belongs to a script that writes no spaces between words, such as Chinese."""
    return _UNSPACED_CHARACTER.match(character) is not None


@cache
def is_word_character(character: str) -> bool:
    """Whether it would make one word with a letter beside it; never in a script without spaces."""
    if is_unspaced(character):
        return False
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def find_whole(text: str, term: str) -> list[tuple[int, int]]:
    """Where `term` stands in `text` as whole words: starts and stops; they do not overlap."""
    found = []
    start = text.find(term) if term else -1
    while start >= 0:
        stop = start + len(term)
        if _parted(text, start) and _parted(text, stop):
            found.append((start, stop))
            start = text.find(term, stop)
        else:
            start = text.find(term, start + 1)
    return found


def find_begun(text: str, term: str) -> list[tuple[int, int]]:
    """Where words of `text` are `term` with an ending of up to LONGEST_ENDING letters, or none: starts and stops."""
    starts = (found.start() for found in re.finditer(re.escape(term), text)) if term else ()
    places = ((start, start + len(term)) for start in starts)
    return [(start, stop) for start, stop in places if _parted(text, start) and _ends_soon(text, stop)]


def _ends_soon(text: str, place: int) -> bool:
    """Whether a word has ended at a place of the text, or does so behind a few letters."""
    return any(
        _parted(text, stop) and (stop == place or text[place:stop].isalpha())
        for stop in range(place, min(place + LONGEST_ENDING, len(text)) + 1)
    )


def _parted(text: str, place: int) -> bool:
    """Whether no word goes on across a place of the text."""
    inside = 0 < place < len(text)
    return not (inside and is_word_character(text[place - 1]) and is_word_character(text[place]))
