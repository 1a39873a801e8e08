"""Spans out of a text and back into its translation, with stand-ins in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.text.spans import Span
from regard.text.units import is_unspaced, is_word_character


@dataclass(frozen=True)
class SpanGroup:
    """Spans side by side, which move as one: `text[start:stop]` of the source, with what it touched there."""

    spans: tuple[Span, ...]
    text: str
    before: str
    """The character in front of it, or nothing."""
    after: str

    @property
    def start(self) -> int:
        return self.spans[0].start

    @property
    def stop(self) -> int:
        return self.spans[-1].stop

    @property
    def is_tag(self) -> bool:
        return self.spans[0].text.startswith("<")


@dataclass(frozen=True)
class Edit:
    """A replacement of `text[start:stop]`."""

    start: int
    stop: int
    text: str


def group_spans(text: str, spans: Sequence[Span]) -> list[SpanGroup]:
    """Spans with nothing but white space between them belong together; tags only with tags."""
    groups: list[list[Span]] = []
    for span in spans:
        last = groups[-1][-1] if groups else None
        alike = last is not None and last.text.startswith("<") == span.text.startswith("<")
        if last is not None and alike and not text[last.stop : span.start].strip():
            groups[-1].append(span)
        else:
            groups.append([span])
    return [_group(text, group) for group in groups]


def _group(text: str, spans: list[Span]) -> SpanGroup:
    start, stop = spans[0].start, spans[-1].stop
    return SpanGroup(tuple(spans), text[start:stop], text[max(0, start - 1) : start], text[stop : stop + 1])


def stands_alone(text: str, groups: Sequence[SpanGroup]) -> bool:
    """Whether a text has no words but its spans."""
    rest = apply_edits(text, [Edit(group.start, group.stop, " ") for group in groups])[0]
    return not any(character.isalnum() for character in rest)


def mask(text: str, groups: Sequence[SpanGroup], words: Sequence[str]) -> tuple[str, list[int]]:
    """The text with a word for each group of spans, parted from what it touches, and where each word's edit begins.

    An empty word takes a group out.
    """
    edits = []
    for group, word in zip(groups, words, strict=True):
        before = " " if word and group.before.strip() else ""
        after = " " if word and _kind(group.after) in ("word", "unspaced") else ""
        doubled = not word and group.after == " " and group.before in ("", " ")
        edits.append(Edit(group.start, group.stop + doubled, before + word + after))
    masked, places = apply_edits(text, edits)
    return masked, [start for start, _ in places]


def restoring_edit(output: str, start: int, stop: int, group: SpanGroup) -> Edit:
    """Put a group in place of its stand-in `output[start:stop]`, without the spaces that the source did not have."""
    if output[start - 1 : start] == " " and _touches(group.before, output[max(0, start - 2) : start - 1]):
        start -= 1
    if output[stop : stop + 1] == " " and _touches(group.after, output[stop + 1 : stop + 2]):
        stop += 1
    return Edit(start, stop, group.text)


def _touches(there: str, here: str) -> bool:
    """Whether a span that touched one character in the source should touch another one in the output."""
    return bool(there.strip() and here.strip()) and _kind(there) == _kind(here)


def _kind(character: str) -> str:
    if not character or character.isspace():
        return "space"
    return "unspaced" if is_unspaced(character) else "word" if is_word_character(character) else "mark"


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, list[tuple[int, int]]]:
    """The text after edits that do not overlap, and where each edit's text stands in it."""
    places: dict[int, tuple[int, int]] = {}
    parts: list[str] = []
    length = copied = 0
    for index in sorted(range(len(edits)), key=lambda index: (edits[index].start, edits[index].stop)):
        edit = edits[index]
        kept = text[copied : max(copied, edit.start)]
        parts += [kept, edit.text]
        places[index] = (length + len(kept), length + len(kept) + len(edit.text))
        length = places[index][1]
        copied = max(copied, edit.stop)
    return "".join([*parts, text[copied:]]), [places[index] for index in range(len(edits))]


def is_apart(place: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether a place shares no character with others."""
    return all(place[1] <= start or stop <= place[0] for start, stop in others)
