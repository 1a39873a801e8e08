"""From what the model wrote to what the user asked for: spans back in their places, terms found and accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.search.alignment import Aligner, Alignment, NoAttentionError
from regard.search.control_plan import Plan
from regard.search.control_report import ControlledTranslation, SpanUse, TermUse
from regard.search.tags import tag_edits
from regard.text.glossary import TermMatch
from regard.text.masking import Edit, SpanGroup, apply_edits, is_apart, restoring_edit
from regard.text.spans import Span
from regard.text.units import find_begun, find_whole

if TYPE_CHECKING:
    from regard.search.translator import Translation, Translator


class Restorer:
    """Finishes the translations of one model."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def finish(self, source: str, plan: Plan, found: Translation) -> ControlledTranslation:
        """Put spans back, see where terms stand, and insert what is missing."""
        if plan.alone:
            spans = [span for group in plan.groups for span in group.spans]
            uses = tuple(SpanUse(span.text, span.kind, span.start, True, False, span.start) for span in spans)
            return ControlledTranslation(replace(found, text=source), (), uses)
        places = self._places(plan, found)
        restored = {index: restoring_edit(found.text, *place, plan.groups[index]) for index, place in places.items()}
        taken = [(edit.start, edit.stop) for edit in restored.values()]
        edits = list(restored.values())
        at_term: dict[TermMatch, int] = {}
        for match in sorted(plan.terms, key=lambda match: -len(match.term.target)):
            place = self._place_of(match, found.text, taken)
            if place is not None:
                taken.append(place)
                at_term[match] = len(edits)
                edits.append(Edit(*place, match.term.target))
        edits += _surplus(found.text, plan.groups, taken)
        missing = [index for index in range(len(plan.groups)) if index not in places]
        at_group = {index: order for order, index in enumerate(restored)}
        alignment = self._aligned(source, found.text) if missing else None
        for index in missing:
            at_group[index] = len(edits)
            edits.append(self._insertion(source, found.text, alignment, plan.groups[index], taken))
        groups = [(group, index in missing, at_group[index]) for index, group in enumerate(plan.groups)]
        groups += [(tag.group, True, order) for order, tag in enumerate(plan.tags, start=len(edits))]
        edits += tag_edits(self._translator, plan.text, found.text, plan.tags, edits)
        text, stands = apply_edits(found.text, edits)
        kept = [
            SpanUse(span.text, span.kind, span.start, not inserted, inserted, start)
            for group, inserted, order in groups
            for span, start in _inside(group, text, stands[order])
        ]
        return ControlledTranslation(
            replace(found, text=text),
            tuple(_term_use(match, stands[at_term[match]] if match in at_term else None, plan) for match in plan.terms),
            tuple(sorted(kept, key=lambda use: use.source_start)),
        )

    def _places(self, plan: Plan, found: Translation) -> dict[int, tuple[int, int]]:
        """Where each group's stand-in (or the group itself) is in the output."""
        decode = self._translator.tokenizers.target.decode
        places: dict[int, tuple[int, int]] = {}
        for index, (group, word) in enumerate(zip(plan.groups, plan.words, strict=True)):
            if word is not None and word.target in found.tokens:
                stop = len(decode(found.tokens[: found.tokens.index(word.target) + 1]))
                places[index] = (stop - len(word.text), stop)
            elif word is None:
                others = list(places.values())
                free = [place for place in find_whole(found.text, group.text) if is_apart(place, others)]
                places |= {index: free[0]} if free else {}
        return places

    def _place_of(self, match: TermMatch, text: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        written = self._translator.tokenizers.target.normalize(match.term.target)
        places = find_begun(text, written) if match.term.inflected else find_whole(text, written)
        return next((place for place in places if is_apart(place, taken)), None)

    def _aligned(self, source: str, text: str) -> Alignment | None:
        try:
            return Aligner(self._translator).align([source], [text])[0]
        except NoAttentionError:
            return None

    def _insertion(
        self,
        source: str,
        text: str,
        alignment: Alignment | None,
        group: SpanGroup,
        taken: Sequence[tuple[int, int]],
    ) -> Edit:
        """Insert a group behind the word that belongs to the nearest source word in front of it, or else at the end."""
        if not text.strip():
            return Edit(len(text), len(text), group.text)
        if alignment is None:
            return Edit(len(text), len(text), f" {group.text}")
        ends: list[int] = []
        for word in alignment.target:
            ends.append(text.index(word, ends[-1] if ends else 0) + len(word))
        before = len(Aligner(self._translator).words(source[: group.start], 0))
        linked = [(origin, ends[target]) for origin, target in alignment.links if origin < before]
        place = max(linked)[1] if linked else 0
        while inside := [stop for start, stop in taken if start < place < stop]:
            place = inside[0]
        return Edit(place, place, f" {group.text}" if place else f"{group.text} ")

    def missing(self, plan: Plan, text: str) -> list[TermMatch]:
        """The terms that a text lacks."""
        taken: list[tuple[int, int]] = []
        missing = []
        for match in sorted(plan.terms, key=lambda match: -len(match.term.target)):
            place = self._place_of(match, text, taken)
            missing += [match] if place is None else []
            taken += [place] if place else []
        return missing


def _surplus(text: str, groups: Sequence[SpanGroup], taken: list[tuple[int, int]]) -> list[Edit]:
    """Remove what the model wrote by itself of the texts that are to come exactly as often as in the source."""
    edits = []
    for written in sorted({span.text for group in groups for span in group.spans}, key=lambda written: -len(written)):
        for start, stop in find_whole(text, written):
            if is_apart((start, stop), taken):
                taken.append((start, stop))
                edits.append(Edit(start - (text[start - 1 : start] == " "), stop, ""))
    return edits


def _inside(group: SpanGroup, text: str, place: tuple[int, int]) -> list[tuple[Span, int]]:
    """Each span of a group, and where it is in the output."""
    start = text.index(group.text, place[0])
    return [(span, start + span.start - group.start) for span in group.spans]


def _term_use(match: TermMatch, place: tuple[int, int] | None, plan: Plan) -> TermUse:
    problem = None if place else plan.problems.get(match, "is not in the translation")
    return TermUse(match.term.source, match.term.target, match.start, place[0] if place else None, problem)
