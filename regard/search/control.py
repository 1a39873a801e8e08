"""Translations under a user's control: terms that must be used, and spans that must come through unchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from regard.progress import Task
from regard.search.alignment import Aligner, NoAttentionError
from regard.search.constrained_translation import ConstrainedTranslator
from regard.search.constraints import Constraint, term_constraint
from regard.search.control_report import ControlledTranslation, SpanUse, TermUse
from regard.search.stand_ins import StandIn, stand_ins
from regard.search.substitution import likelihoods_of_the_rest, substitutions
from regard.search.texts import check_texts
from regard.text.glossary import Glossary, TermMatch
from regard.text.masking import Edit, SpanGroup, apply_edits, group_spans, mask, restoring_edit, stands_alone
from regard.text.spans import Span, SpanFinder
from regard.text.units import find_begun, find_whole

if TYPE_CHECKING:
    from regard.search.translator import SearchOptions, Translation, Translator


@dataclass(frozen=True)
class _Plan:
    """What is to be done with one text."""

    text: str
    """What the model gets."""
    constraints: list[Constraint]
    terms: list[TermMatch]
    groups: list[SpanGroup]
    words: list[StandIn | None]
    """The stand-in of each group; None where the output must hold the group itself."""
    problems: dict[TermMatch, str]
    alone: bool = False
    """Whether there is nothing to translate."""


class ControlledTranslator:
    """Translates so that terms of a glossary are used and spans come through; `Translator.controlled` gives one."""

    def __init__(
        self, translator: Translator, glossary: Glossary | None = None, keep: SpanFinder | None = None
    ) -> None:
        self._translator, self._glossary, self._keep = translator, glossary, keep
        self._constrained = ConstrainedTranslator(translator)
        self._term_constraints: dict[tuple[str, bool], Constraint] = {}

    def translate(
        self,
        texts: Sequence[str],
        *,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[ControlledTranslation]:
        """The best translation of each text under control, with what became of each term and span, in order."""
        check_texts(texts, first_line)
        plans = [self._plan(text) for text in texts]
        found = self._constrained.translate(
            ["" if plan.alone else plan.text for plan in plans],
            [plan.constraints if plan.groups else [] for plan in plans],
            progress=progress,
            first_line=first_line,
            **options,
        )
        finished = [self._finish(*each) for each in zip(texts, plans, found, strict=True)]
        # What has all its terms by itself stays as it is; the others are made to have them.
        lacking = {index for index, each in enumerate(finished) if not all(use.met for use in each.terms)}
        lacking -= {index for index, plan in enumerate(plans) if plan.groups}
        again = self._constrained.translate(
            [plan.text if index in lacking else "" for index, plan in enumerate(plans)],
            [plan.constraints for plan in plans],
            first_line=first_line,
            **options,
        )
        for index in lacking:
            finished[index] = self._finish(texts[index], plans[index], again[index])
        self._improve(sorted(lacking), texts, plans, found, finished, options)
        return finished

    def _improve(
        self,
        lacking: list[int],
        texts: Sequence[str],
        plans: Sequence[_Plan],
        plain: Sequence[Translation],
        finished: list[ControlledTranslation],
        options: SearchOptions,
    ) -> None:
        """Take the plain translation with terms in the places of its words, where that leaves the rest more likely."""
        missing = [self._missing(plans[index], plain[index].text) for index in lacking]
        sources, translations = [texts[index] for index in lacking], [plain[index] for index in lacking]
        found = substitutions(self._translator, sources, translations, missing, **options)
        others = {
            index: self._finish(texts[index], plans[index], translation)
            for index, translation in zip(lacking, found, strict=True)
            if translation is not None
        }
        others = {index: each for index, each in others.items() if all(use.met for use in each.terms)}
        rivals = [(texts[index], each) for index, each in others.items()]
        rivals += [(texts[index], finished[index]) for index in others]
        likely = likelihoods_of_the_rest(self._translator, rivals)
        for index, rest, former in zip(others, likely, likely[len(others) :], strict=False):
            finished[index] = others[index] if rest > former else finished[index]

    def _missing(self, plan: _Plan, text: str) -> list[TermMatch]:
        """The terms that a text lacks."""
        taken: list[tuple[int, int]] = []
        missing = []
        for match in sorted(plan.terms, key=lambda match: -len(match.term.target)):
            place = self._place_of(match, text, taken)
            missing += [match] if place is None else []
            taken += [place] if place else []
        return missing

    @cached_property
    def _stand_ins(self) -> list[StandIn]:
        return stand_ins(self._translator)

    def _plan(self, text: str) -> _Plan:
        groups = group_spans(text, self._keep.find(text)) if self._keep else []
        terms = [match for match in (self._glossary.find(text) if self._glossary else ()) if _is_free(match, groups)]
        if groups and stands_alone(text, groups):
            return _Plan(text, [], [], groups, [None] * len(groups), {}, alone=True)
        words = self._words_for(text, groups, terms)
        wanted = [(match, self._constraint(match.term.target, match.term.inflected)) for match in terms]
        of_groups = [
            word.constraint if word else self._constraint(group.text, False)
            for group, word in zip(groups, words, strict=True)
        ]
        constraints: list[Constraint] = []
        problems: dict[TermMatch, str] = {}
        room = self._constrained.room
        for match, constraint in [*wanted, *((None, each) for each in of_groups)]:
            if room is not None and sum(each.longest for each in constraints) + constraint.longest > room:
                if match is not None:
                    problems[match] = f"does not fit into the {room} tokens that the model can write"
                continue
            constraints.append(constraint)
        masked = mask(text, groups, [word.text if word else None for word in words])
        return _Plan(masked, constraints, terms, groups, words, problems)

    def _words_for(self, text: str, groups: list[SpanGroup], terms: list[TermMatch]) -> list[StandIn | None]:
        """A stand-in for each group, none of which is in the text or in what must be used."""
        if not groups:
            return []
        seen = " ".join([text, *(match.term.target for match in terms)]).lower()
        used = {
            token
            for match in terms
            for spelling in self._constraint(match.term.target, match.term.inflected).spellings
            for token in spelling.tokens
        }
        free = (word for word in self._stand_ins if word.text.lower() not in seen and word.target not in used)
        return [next(free, None) for _ in groups]

    def _constraint(self, text: str, inflected: bool) -> Constraint:
        known = self._term_constraints.get((text, inflected))
        if known is None:
            known = term_constraint(self._translator.tokenizers.target, text, inflected)
            self._term_constraints[text, inflected] = known
        return known

    def _finish(self, source: str, plan: _Plan, found: Translation) -> ControlledTranslation:
        """Put spans back, see where terms stand, and insert what is missing."""
        if plan.alone:
            spans = [span for group in plan.groups for span in group.spans]
            uses = tuple(SpanUse(span.text, span.kind, span.start, True, False, span.start) for span in spans)
            return ControlledTranslation(dataclasses.replace(found, text=source), (), uses)
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
        for index in missing:
            at_group[index] = len(edits)
            edits.append(self._insertion(source, found.text, plan.groups[index], taken))
        text, stands = apply_edits(found.text, edits)
        return ControlledTranslation(
            dataclasses.replace(found, text=text),
            tuple(_term_use(match, stands[at_term[match]] if match in at_term else None, plan) for match in plan.terms),
            tuple(
                SpanUse(span.text, span.kind, span.start, index not in missing, index in missing, start)
                for index, group in enumerate(plan.groups)
                for span, start in _inside(group, text, stands[at_group[index]])
            ),
        )

    def _places(self, plan: _Plan, found: Translation) -> dict[int, tuple[int, int]]:
        """Where each group's stand-in (or the group itself) is in the output; tags keep the order of the source."""
        decode = self._translator.tokenizers.target.decode
        places: dict[int, tuple[int, int]] = {}
        for index, (group, word) in enumerate(zip(plan.groups, plan.words, strict=True)):
            if word is not None and word.target in found.tokens:
                stop = len(decode(found.tokens[: found.tokens.index(word.target) + 1]))
                places[index] = (stop - len(word.text), stop)
            elif word is None:
                others = list(places.values())
                free = [place for place in find_whole(found.text, group.text) if _is_apart(place, others)]
                places |= {index: free[0]} if free else {}
        tags = [index for index in places if plan.groups[index].is_tag]
        ordered = sorted(places[index] for index in tags)
        return places | dict(zip(tags, ordered, strict=True))

    def _place_of(self, match: TermMatch, text: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        written = self._translator.tokenizers.target.normalize(match.term.target)
        places = find_begun(text, written) if match.term.inflected else find_whole(text, written)
        return next((place for place in places if _is_apart(place, taken)), None)

    def _insertion(self, source: str, text: str, group: SpanGroup, taken: Sequence[tuple[int, int]]) -> Edit:
        """Insert a group behind the word that belongs to the nearest source word in front of it, or else at the end."""
        if not text.strip():
            return Edit(len(text), len(text), group.text)
        try:
            [alignment] = Aligner(self._translator).align([source], [text])
        except NoAttentionError:
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


def _is_free(match: TermMatch, groups: Sequence[SpanGroup]) -> bool:
    return _is_apart((match.start, match.stop), [(group.start, group.stop) for group in groups])


def _is_apart(place: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return all(place[1] <= start or stop <= place[0] for start, stop in others)


def _surplus(text: str, groups: Sequence[SpanGroup], taken: list[tuple[int, int]]) -> list[Edit]:
    """Remove what the model wrote by itself of the texts that are to come exactly as often as in the source."""
    edits = []
    for written in sorted({span.text for group in groups for span in group.spans}, key=lambda written: -len(written)):
        for start, stop in find_whole(text, written):
            if _is_apart((start, stop), taken):
                taken.append((start, stop))
                edits.append(Edit(start - (text[start - 1 : start] == " "), stop, ""))
    return edits


def _inside(group: SpanGroup, text: str, place: tuple[int, int]) -> list[tuple[Span, int]]:
    """Each span of a group, and where it is in the output."""
    start = text.index(group.text, place[0])
    return [(span, start + span.start - group.start) for span in group.spans]


def _term_use(match: TermMatch, place: tuple[int, int] | None, plan: _Plan) -> TermUse:
    problem = None if place else plan.problems.get(match, "is not in the translation")
    return TermUse(match.term.source, match.term.target, match.start, place[0] if place else None, problem)
