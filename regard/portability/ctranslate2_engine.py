"""Translation through CTranslate2, behind the interface of `Translator`: same options, same texts, same n-best lists.

CTranslate2 searches, and we rank what it found: it gives the K best finished outputs with their log-probabilities, to
which our length penalties and length limits apply as they do to our own search.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError
from regard.models.folder import LoadedModel, load_model
from regard.portability import optional
from regard.portability.cache import cached_export
from regard.portability.ctranslate2_format import vocabulary
from regard.search.confidence import Calibration
from regard.search.hypotheses import Hypothesis, NBest, Watch
from regard.search.length_penalty import length_penalty
from regard.search.options import SearchOptions
from regard.search.rules import forbidden_tokens, length_limits
from regard.search.searching import is_plain
from regard.search.translator import Translator

Output = tuple[list[int], float]
"""Tokens, with the end mark if the model ended it, and their log-probability."""


class CTranslate2Translator(Translator):
    """A model in CTranslate2: `translate`, `translate_nbest` and `translate_stream` as of `Translator`.

    `score` is regard's own. The search differs from ours in one thing: an output that ends frees its place in the beam.
    """

    def __init__(self, loaded: LoadedModel, folder: str | Path, threads: int = 0) -> None:
        super().__init__(loaded)
        library = optional.ctranslate2()
        self._names = vocabulary(self.tokenizers.source), vocabulary(self.tokenizers.target)
        self._ids = {name: number for number, name in enumerate(self._names[1])}
        self._never = set(forbidden_tokens(len(self._ids)))
        self._library = library.Translator(str(folder), device="cpu", intra_threads=threads or torch.get_num_threads())

    @classmethod
    def load(cls, folder: str | Path) -> Self:  # type: ignore[override] # an ensemble is regard's own
        """Read a model folder; the first time, its export is made and kept (`regard.portability.cache`)."""
        loaded = load_model(folder)
        translator = cls(loaded, cached_export(folder, loaded))
        translator.calibration = Calibration.load(Path(folder))
        return translator

    def _packed(self, search: SearchConfig, beginnings: Sequence[Sequence[int]] = ()) -> None:
        """CTranslate2 searches, not we."""

    def _search_config(self, options: SearchOptions) -> SearchConfig:
        """Greedy and beam search, and no more."""
        search = super()._search_config(options)
        if not is_plain(search) or search.mbr or search.compute != "float32":
            raise InputError(
                "--engine ctranslate2 knows greedy and beam search alone: no sampling, rules for tokens, coverage "
                "penalty, minimum Bayes risk or `compute`; leave those out, or the engine"
            )
        return search

    def _search(
        self,
        sources: list[list[int]],
        search: SearchConfig,
        best: int,
        beginnings: Sequence[Sequence[int]] = (),
        watch: Watch | None = None,  # noqa: ARG002 - it shows nothing on its way
    ) -> list[list[Hypothesis]]:
        """The `best` hypotheses for each source, which ends with its end mark; in one call, if none grows too long."""
        if beginnings:
            raise InputError("--engine ctranslate2 takes no prefixes; leave the engine out")
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row)) for row in sources], batch_first=True)
        limits: list[int] = length_limits(mask, search, self.longest_target).tolist()
        found = self._ask(sources, max(limits), search)
        # The library takes one limit for all. What passed its own is asked for again, among its equals.
        too_long = [_longest(outputs) > limit for outputs, limit in zip(found, limits, strict=True)]
        self._ask_again(found, too_long, sources, limits, search, suppress=False)
        # To suppress tokens is to change all other probabilities, so it is done only where one of them was said.
        forbidden = [any(self._never & set(tokens) for tokens, _ in outputs) for outputs in found]
        self._ask_again(found, forbidden, sources, limits, search, suppress=True)
        return [_ranked(outputs, search, best) for outputs in found]

    def _ask_again(
        self,
        found: list[list[Output]],
        which: Sequence[bool],
        sources: list[list[int]],
        limits: Sequence[int],
        search: SearchConfig,
        suppress: bool,
    ) -> None:
        """Replace what was found for some sources, those of one limit together."""
        rows = [row for row, wanted in enumerate(which) if wanted]
        for limit in sorted({limits[row] for row in rows}):
            equals = [row for row in rows if limits[row] == limit]
            outputs = self._ask([sources[row] for row in equals], limit, search, suppress)
            for row, output in zip(equals, outputs, strict=True):
                found[row] = output

    def _ask(
        self, sources: list[list[int]], limit: int, search: SearchConfig, suppress: bool = False
    ) -> list[list[Output]]:
        tokens = [[self._names[0][token] for token in source[:-1]] for source in sources]
        results = self._library.translate_batch(
            tokens,
            beam_size=search.beam,
            num_hypotheses=search.beam,
            length_penalty=0.0,
            return_scores=True,
            return_end_token=True,
            max_decoding_length=limit,
            max_input_length=0,
            suppress_sequences=[[self._names[1][token]] for token in self._never] if suppress else None,
        )
        return [self._outputs(result) for result in results]

    def _outputs(self, result: Any) -> list[Output]:
        return [
            ([self._ids[name] for name in names], float(score))
            for names, score in zip(result.hypotheses, result.scores, strict=True)
        ]


def _longest(outputs: Sequence[Output]) -> int:
    return max((len(tokens) for tokens, _ in outputs), default=0)


def _ranked(outputs: Sequence[Output], search: SearchConfig, best: int) -> list[Hypothesis]:
    found = NBest(best)
    for tokens, log_probability in outputs:
        finished = bool(tokens) and tokens[-1] == EOS_ID
        score = log_probability / length_penalty(len(tokens), search)
        found.add(Hypothesis(tokens[:-1] if finished else tokens, score, log_probability, finished, []))
    return found.best()
