"""Tags into a translation: around the words that belong to those that they stood around in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.search.alignment import Aligner, NoAttentionError
from regard.text.masking import Edit, SpanGroup

if TYPE_CHECKING:
    from regard.search.translator import Translator


@dataclass(frozen=True)
class PlacedTag:
    """Tags side by side, and where they stood in the source that was translated, which has none."""

    group: SpanGroup
    place: int

    @property
    def names(self) -> list[str]:
        return [re.sub(r"[</>]|\s.*", "", span.text, flags=re.DOTALL) for span in self.group.spans]

    @property
    def opens(self) -> bool:
        return not any(span.text.startswith("</") or span.text.endswith("/>") for span in self.group.spans)

    @property
    def closes(self) -> bool:
        return all(span.text.startswith("</") for span in self.group.spans)


def tag_edits(
    translator: Translator, source: str, output: str, tags: Sequence[PlacedTag], others: Sequence[Edit] = ()
) -> list[Edit]:
    """The insertions of tags into an output, in the order of the source; `source` and `output` have no tags.

    What `others` replace in the output, no tag cuts.
    """
    if not tags:
        return []
    aligner = Aligner(translator, by_units=True)
    source_words, target_words = aligner.words(source, 0), aligner.words(output, 1)
    try:
        links = aligner.align([source], [output])[0].links
    except NoAttentionError:
        links = ()
    partners = _partners(tags)
    places = []
    for index, tag in enumerate(tags):
        begin, end = _covered(index, tags, partners, len(source))
        inside = [word for word, (start, stop) in enumerate(source_words) if begin <= start and stop <= end]
        targets = [target for origin, target in links if origin in inside]
        if tag.opens:
            places.append(target_words[min(targets)][0] if targets else (len(output) if begin else 0))
        else:
            places.append(target_words[max(targets)][1] if targets else (len(output) if end else 0))
    outside = sorted(_outside(place, tag, others) for place, tag in zip(sorted(places), tags, strict=True))
    return [_insertion(output, place, tag) for place, tag in zip(outside, tags, strict=True)]


def _partners(tags: Sequence[PlacedTag]) -> dict[int, int]:
    """Which opening tags belong to which closing ones, both ways."""
    partners: dict[int, int] = {}
    waiting: list[int] = []
    for index, tag in enumerate(tags):
        if tag.opens:
            waiting.append(index)
        elif tag.closes and waiting and tags[waiting[-1]].names[::-1] == tag.names:
            partners[index] = waiting.pop()
            partners[partners[index]] = index
    return partners


def _covered(index: int, tags: Sequence[PlacedTag], partners: dict[int, int], length: int) -> tuple[int, int]:
    """The part of the source that says where a tag goes: what it encloses, or else all behind or before it."""
    here = tags[index].place
    if index in partners:
        there = tags[partners[index]].place
        return min(here, there), max(here, there)
    return (here, length) if tags[index].opens else (0, here)


def _outside(place: int, tag: PlacedTag, others: Sequence[Edit]) -> int:
    """The place of a tag; in front of a replacement that it would cut if the tag opens, behind it otherwise."""
    cut = next((edit for edit in others if edit.start < place < edit.stop), None)
    if cut is None:
        return place
    return cut.start if tag.opens else cut.stop


def _insertion(output: str, place: int, tag: PlacedTag) -> Edit:
    """Tags with the spaces around them that they had."""
    group = tag.group
    before = " " if group.before == " " and place and not output[:place].endswith(" ") else ""
    after = " " if group.after == " " and place < len(output) and not output[place:].startswith(" ") else ""
    return Edit(place, place, before + group.text + after)
