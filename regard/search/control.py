"""Translations under a user's control: terms that must be used, and spans that must come through unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

from regard.progress import Task
from regard.search.constrained_translation import ConstrainedTranslator
from regard.search.control_plan import Plan, Planner
from regard.search.control_report import ControlledTranslation
from regard.search.restoring import Restorer
from regard.search.substitution import standings, substitutions
from regard.search.texts import check_texts
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder
from regard.text.units import units

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.search.translator import Translation, Translator


class ControlledTranslator:
    """Translates so that terms of a glossary are used and spans come through; `Translator.controlled` gives one.

    Such a search can take long: it ends with Abandoned once it is not `still_wanted`.
    """

    def __init__(
        self,
        translator: Translator,
        glossary: Glossary | None = None,
        keep: SpanFinder | None = None,
        still_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._translator = translator
        self._constrained = ConstrainedTranslator(translator, still_wanted)
        self._planner = Planner(translator, glossary, keep, self._constrained.room)
        self._restorer = Restorer(translator)

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
        plans = [self._planner.plan(text) for text in texts]
        found = self._constrained.translate(
            ["" if plan.alone else plan.text for plan in plans],
            [plan.constraints if plan.groups else [] for plan in plans],
            plain_first=True,
            progress=progress,
            first_line=first_line,
            **options,
        )
        finished = [self._restorer.finish(*each) for each in zip(texts, plans, found, strict=True)]
        # What has all its terms by itself stays as it is; the others are made to have them.
        lacking = {index for index, each in enumerate(finished) if not all(use.met for use in each.terms)}
        lacking -= {index for index, plan in enumerate(plans) if plan.groups}
        lacking = {index for index in lacking if plans[index].constraints}
        if not lacking:
            return finished
        again = self._constrained.translate(
            [plan.text if index in lacking else "" for index, plan in enumerate(plans)],
            [plan.constraints for plan in plans],
            first_line=first_line,
            **options,
        )
        for index in lacking:
            finished[index] = self._restorer.finish(texts[index], plans[index], again[index])
        untagged = [index for index in sorted(lacking) if not plans[index].tags]
        self._improve(untagged, texts, plans, found, finished, options)
        return finished

    def _improve(
        self,
        lacking: list[int],
        texts: Sequence[str],
        plans: Sequence[Plan],
        plain: Sequence[Translation],
        finished: list[ControlledTranslation],
        options: SearchOptions,
    ) -> None:
        """Take the plain translation with terms in the places of its words, where the model likes that better."""
        missing = [self._restorer.missing(plans[index], plain[index].text) for index in lacking]
        sources, translations = [texts[index] for index in lacking], [plain[index] for index in lacking]
        found = substitutions(self._translator, sources, translations, missing, **options)
        others = {
            index: self._restorer.finish(texts[index], plans[index], translation)
            for index, translation in zip(lacking, found, strict=True)
            if translation is not None
        }
        encode, room = self._translator.tokenizers.target.encode, self._constrained.room
        others = {
            index: each
            for index, each in others.items()
            if all(use.met for use in each.terms)
            and (room is None or max(len(encode(each.text)), len(encode(finished[index].text))) <= room)
        }
        rivals = [(texts[index], each) for index, each in others.items()]
        rivals += [(texts[index], finished[index]) for index in others]
        stand = standings(self._translator, rivals, self._translator._search_config(options))
        for index, other, former in zip(others, stand, stand[len(others) :], strict=False):
            # The mean shows what the search left out, the score what it added; the score is better, too, for less.
            shortened = len(units(others[index].text)) < len(units(plain[index].text))
            if other.rest > former.rest or (other.score > former.score and not shortened):
                finished[index] = others[index]
