"""Texts through a constrained search, in batches of like beams and lengths, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

from regard.config import SearchConfig
from regard.errors import InputError
from regard.progress import Task
from regard.search.batching import pad, token_batches
from regard.search.constrained import PLACES, constrained_search, places_for
from regard.search.constraints import ConstraintSet
from regard.search.searching import is_plain
from regard.search.spellings import Constraint
from regard.search.texts import check_texts

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.search.translator import Translation, Translator


def refuse_other_searches(translator: Translator, options: SearchOptions) -> None:
    """Refuse what a constrained search does not know."""
    search = translator._search_config(options)
    if search.mbr or not is_plain(search):
        raise InputError(
            "terms and spans that must be met are searched for with a beam alone: no sampling, rules for tokens, "
            "coverage penalty or minimum Bayes risk; leave those out, or the glossary and what is to be kept"
        )


class ConstrainedTranslator:
    """Translates with one model so that outputs meet constraints; a part of the translator, and in its confidence."""

    def __init__(self, translator: Translator, still_wanted: Callable[[], bool] = lambda: True) -> None:
        self.translator = translator
        self._still_wanted = still_wanted
        self.edges = translator.token_edges

    def translate(
        self,
        texts: Sequence[str],
        constraints: Sequence[Sequence[Constraint]],
        *,
        plain_first: bool = False,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[Translation]:
        """The best translation of each text that meets its constraints; they must fit into `room`.

        A text without constraints is translated as always. With `plain_first`, so is one with few of them, and what
        meets them by itself stays as it is: a plain search is many times faster.
        """
        check_texts(texts, first_line)
        search = self.translator._search_config(options)
        if any(constraints):
            refuse_other_searches(self.translator, options)
        sets = [ConstraintSet(each, self.edges) for each in constraints]
        bound = {index: each for index, each in enumerate(sets) if each.constraints and texts[index].strip()}
        translations: dict[int, Translation] = {}
        if len(bound) < len(texts):
            # Blanks in the places of the others keep the numbers of lines right.
            free = ["" if index in bound else text for index, text in enumerate(texts)]
            others = self.translator.translate_nbest(free, 1, first_line=first_line, **options)
            translations = {index: found[0] for index, found in enumerate(others)}
        if plain_first and bound:
            by_itself = self._by_itself(texts, bound, search, first_line, options)
            translations |= by_itself
            bound = {index: each for index, each in bound.items() if index not in by_itself}
        if progress:
            progress.advance(len(texts) - len(bound))
        widths = {index: places_for(each, search) for index, each in bound.items()}
        for places in sorted(set(widths.values())):
            group = {index: each for index, each in bound.items() if widths[index] == places}
            translations |= self._search(texts, group, places, search, first_line, progress)
        return [translations[index] for index in range(len(texts))]

    @property
    def room(self) -> int | None:
        """The tokens that constraints may have together, where the model's positions set a limit."""
        longest = self.translator.longest_target
        return None if longest is None else longest - 1

    def _by_itself(
        self,
        texts: Sequence[str],
        bound: dict[int, ConstraintSet],
        search: SearchConfig,
        first_line: int,
        options: SearchOptions,
    ) -> dict[int, Translation]:
        """What meets its constraints without being held to them, by a beam that is as wide as if it were."""
        beam = max(search.beam, PLACES)
        few = {index: each for index, each in bound.items() if places_for(each, search) <= beam}
        tried = ["" if index not in few else text for index, text in enumerate(texts)]
        wide: SearchOptions = {**options, "beam": beam}
        found = self.translator.translate_nbest(tried, 1, first_line=first_line, **wide)
        return {
            index: found[index][0]
            for index, each in few.items()
            if found[index][0].finished and each.met_by(found[index][0].tokens)
        }

    def _search(
        self,
        texts: Sequence[str],
        group: dict[int, ConstraintSet],
        places: int,
        search: SearchConfig,
        first_line: int,
        progress: Task | None,
    ) -> dict[int, Translation]:
        """The translations of texts whose beams are equally wide, by their indices."""
        translator = self.translator
        indices = list(group)
        encoded = translator.tokenizers.source.encode_batch([texts[index] for index in indices])
        sources = [
            translator._with_end_mark(source, first_line + index)
            for index, source in zip(indices, encoded, strict=True)
        ]
        # The rows of a batch are its sentences times their places, each with a row of logits.
        budget = max(1, search.batch_tokens * search.beam // places)
        most_rows = max(1, LOGITS_AT_ONCE // (places * translator.tokenizers.target.vocabulary_size))
        translations: dict[int, Translation] = {}
        with translator._evaluating():
            for batch in token_batches([len(source) for source in sources], budget, most_rows):
                source, source_mask = pad([sources[place] for place in batch], translator.model.device)
                sets = [group[indices[place]] for place in batch]
                longest = translator.longest_target
                found = constrained_search(
                    translator._engine(search.compute), source, source_mask, sets, self.edges, search, longest=longest,
                    still_wanted=self._still_wanted,
                )  # fmt: skip
                for place, hypotheses in zip(batch, found, strict=True):
                    translations[indices[place]] = translator._translation(hypotheses[0])
                if progress:
                    progress.advance(len(batch))
        return translations


LOGITS_AT_ONCE = 2**26
"""A batch has no more rows than make so many logits a step."""
