"""What is to be done with a text: which terms its translation must use, and what stands in for its spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regard.search.spellings import Constraint, term_constraint
from regard.search.stand_ins import StandIn
from regard.search.tags import PlacedTag
from regard.text.glossary import Glossary, TermMatch
from regard.text.masking import SpanGroup, group_spans, is_apart, mask, stands_alone
from regard.text.spans import SpanFinder
from regard.text.units import JOINING_MARKS

if TYPE_CHECKING:
    from regard.search.translator import Translator


@dataclass(frozen=True)
class Plan:
    """What is to be done with one text."""

    text: str
    """What the model gets."""
    constraints: list[Constraint]
    terms: list[TermMatch]
    groups: list[SpanGroup]
    words: list[StandIn | None]
    """The stand-in of each group; None where the output must hold the group itself."""
    tags: list[PlacedTag]
    problems: dict[TermMatch, str]
    alone: bool = False
    """Whether there is nothing to translate."""


class Planner:
    """Makes plans for one model; constraints may have `room` tokens together, or any number."""

    def __init__(
        self, translator: Translator, glossary: Glossary | None, keep: SpanFinder | None, room: int | None
    ) -> None:
        self._translator, self._glossary, self._keep, self._room = translator, glossary, keep, room
        self._term_constraints: dict[tuple[str, bool], Constraint] = {}

    def plan(self, text: str) -> Plan:
        """The plan for one text."""
        all_groups = group_spans(text, self._keep.find(text)) if self._keep else []
        found = self._glossary.find(text) if self._glossary else ()
        terms = [match for match in found if _is_free(match, all_groups)]
        if all_groups and stands_alone(text, all_groups):
            return Plan(text, [], [], all_groups, [None] * len(all_groups), [], {}, alone=True)
        groups = [group for group in all_groups if not group.is_tag]
        words = self._words_for(text, groups, terms)
        wanted = [(match, self._constraint(match.term.target, match.term.inflected)) for match in terms]
        of_groups = [
            _constraint_for(group, word) if word else self._constraint(group.text, False)
            for group, word in zip(groups, words, strict=True)
        ]
        constraints: list[Constraint] = []
        problems: dict[TermMatch, str] = {}
        room = self._room
        for match, constraint in [*wanted, *((None, each) for each in of_groups)]:
            if room is not None and sum(each.longest for each in constraints) + constraint.longest > room:
                if match is not None:
                    problems[match] = f"does not fit into the {room} tokens that the model can write"
                continue
            constraints.append(constraint)
        written = dict(zip(groups, (word.text if word else None for word in words), strict=True))
        masked, places = mask(
            text, all_groups, [written.get(group, "") or group.text * (not group.is_tag) for group in all_groups]
        )
        tags = [PlacedTag(group, place) for group, place in zip(all_groups, places, strict=True) if group.is_tag]
        return Plan(masked, constraints, terms, groups, words, tags, problems)

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
        free = (
            word for word in self._translator.stand_ins if word.text.lower() not in seen and word.target not in used
        )
        return [next(free, None) for _ in groups]

    def _constraint(self, text: str, inflected: bool) -> Constraint:
        known = self._term_constraints.get((text, inflected))
        if known is None:
            known = term_constraint(self._translator.tokenizers.target, text, inflected)
            self._term_constraints[text, inflected] = known
        return known


def _constraint_for(group: SpanGroup, word: StandIn) -> Constraint:
    """A hyphen may follow a stand-in only where one follows the span in the source."""
    return replace(word.constraint, unjoined=group.after not in JOINING_MARKS or not group.after)


def _is_free(match: TermMatch, groups: Sequence[SpanGroup]) -> bool:
    return is_apart((match.start, match.stop), [(group.start, group.stop) for group in groups])
