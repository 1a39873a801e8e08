"""A trained model in use: text in, translations or scores out, in batches, in order."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self, Unpack

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError
from regard.models.ensemble import Average, load_ensemble
from regard.models.folder import LoadedModel
from regard.native.engine import Compute, PackedModel
from regard.native.search import MAX_BEAM
from regard.progress import Task
from regard.search.alignment import Aligner, Alignment
from regard.search.batching import token_batches
from regard.search.confidence import Calibration
from regard.search.control import ControlledTranslator
from regard.search.documents import translate_document
from regard.search.engine import Engine, engine_for, packed_model
from regard.search.hypotheses import Hypothesis, Watch
from regard.search.mbr import by_utility
from regard.search.native import native_search
from regard.search.options import SearchOptions, search_config
from regard.search.pairs import choose_pair
from regard.search.prefixes import check_prefixes, check_room, encode_prefixes
from regard.search.rules import check_best
from regard.search.scoring import Score, token_log_probabilities
from regard.search.searching import Searching, is_plain
from regard.search.spellings import TokenEdges
from regard.search.stand_ins import StandIn, stand_ins
from regard.search.texts import check_texts, chunks
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder

LONGEST_SOURCE = 2048
"""Tokens of an input that are read, where the model's positions set no limit: attention grows with their square."""


LOGITS_AT_ONCE = 2**26
"""A batch has no more sentences than make so many logits a step: wide beams over large vocabularies need memory."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One translation of a text."""

    text: str
    score: float
    """The log-probability after the length penalty: what translations of one text are ranked by."""
    log_probability: float
    tokens: list[int]
    pieces: list[str]
    """The tokens as they can be printed."""
    finished: bool
    """Whether the model ended it; otherwise the length limit did, or the guard against loops."""
    token_log_probabilities: list[float]
    """Of each token, and of the end mark if there is one."""
    looped: bool = False
    """Whether it said the same over and over, so that the guard against loops ended it."""
    utility: float | None = None
    """With minimum Bayes risk, what translations are ranked by: the mean chrF with the others."""
    confidence: float | None = None
    """The chance from 0 to 1 that it is good; None where the model has not been calibrated."""

    @property
    def mean_log_probability(self) -> float:
        """Log-probability by token, the end mark included."""
        # The guard against loops may have ended it with an end mark, though it is not finished.
        tokens = len(self.token_log_probabilities) or len(self.tokens) + self.finished
        return self.log_probability / max(1, tokens)


EMPTY = Translation("", 0.0, 0.0, [], [], True, [])


class Translator:
    """Translates and scores with one model; `regard.load(folder)` gives one."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.model, self.config, self.tokenizers = loaded.model, loaded.config, loaded.tokenizers
        self._engines: dict[Compute, Engine] = {}
        learned = self.config.model.positions == "learned"
        self.longest_source = self.config.model.max_positions if learned else LONGEST_SOURCE
        self.longest_target = self.config.model.max_positions if learned else None
        self.calibration: Calibration | None = None
        self.pairs = self.config.data.pairs if self.config.data.tags else (self.languages,)
        """All pairs of languages that the model translates, its own first; `between` chooses one."""

    @classmethod
    def load(cls, folder: str | Path, *others: str | Path, average: Average = "probabilities") -> Self:
        """Read a model folder; with others, an ensemble that averages what their models say."""
        loaded = load_ensemble([folder, *others], average)
        loaded.model.requires_grad_(False)  # nobody trains it, so that it need be prepared only once
        translator = cls(loaded)
        translator.calibration = None if others else Calibration.load(Path(folder))
        return translator

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of the source and of the target language."""
        return self.config.data.source_language, self.config.data.target_language

    def between(self, source: str | None = None, target: str | None = None) -> Self:
        """The same model for another of its pairs of languages; what is not given may be any, its own first."""
        pair = choose_pair(self.pairs, self.languages, source, target)
        if pair == self.languages:
            return self
        other = copy.copy(self)
        vars(other).pop("stand_ins", None)  # what it copies, it may copy into one language alone
        other.config = self.config.model_copy(update={"data": self.config.data.meaning(*pair)})
        other.tokenizers = self.tokenizers.tagged(pair[1])
        other.calibration = None  # it was learned on the model's own pair
        return other

    def translate(
        self,
        texts: Sequence[str],
        *,
        prefixes: Sequence[str] | None = None,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[str]:
        """The best translation of each text, in order; an empty or blank text has an empty one.

        Each begins with its prefix, if there are `prefixes`. `progress` is advanced by each text; `first_line` is the
        number of the first text in warnings and errors.
        """
        search = self._search_config(options)
        return [found[0].text for found in self._translate(texts, search, 1, progress, first_line, prefixes)]

    def translate_nbest(
        self,
        texts: Sequence[str],
        best: int | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[list[Translation]]:
        """The `best` translations of each text (None: as many as there are), best first."""
        search = self._search_config(options)
        wanted = search.width if best is None else best
        return self._translate(texts, search, wanted, progress, first_line, prefixes)

    def translate_stream(
        self, lines: Iterable[str], *, progress: Task | None = None, **options: Unpack[SearchOptions]
    ) -> Iterator[str]:
        """Translate any number of lines, in order, with no more than a few thousand of them in memory."""
        number = 1
        for chunk in chunks(lines):
            yield from self.translate(chunk, progress=progress, first_line=number, **options)
            number += len(chunk)

    def controlled(self, glossary: Glossary | None = None, keep: SpanFinder | None = None) -> ControlledTranslator:
        """A translator that uses the terms of a glossary, and keeps spans such as placeholders unchanged."""
        return ControlledTranslator(self, glossary, keep)

    @cached_property
    def token_edges(self) -> TokenEdges:
        """Which tokens of the target begin or end inside a word."""
        return TokenEdges.of(self.tokenizers.target)

    @cached_property
    def stand_ins(self) -> list[StandIn]:
        """Words that the model copies best, found out once: it takes as long as some dozens of translations."""
        return stand_ins(self)

    def translate_document(self, text: str, *, progress: Task | None = None, **options: Unpack[SearchOptions]) -> str:
        """A text of many sentences, translated sentence by sentence; its lines and white space stay."""
        return translate_document(self, text, lambda texts: self.translate(texts, progress=progress, **options))

    def align(self, sources: Sequence[str], targets: Sequence[str], layer: int | None = None) -> list[Alignment]:
        """Which words of each target belong to which of its source, by the model's attention."""
        return Aligner(self, layer).align(sources, targets)

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        progress: Task | None = None,
        first_line: int = 1,
        batch_tokens: int | None = None,
    ) -> list[Score]:
        """How likely the model finds each target as the translation of its source."""
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources and {len(targets)} targets: each pair needs both")
        budget = self._search_config({"batch_tokens": batch_tokens}).batch_tokens
        check_texts(sources, first_line)
        check_texts(targets, first_line)
        source_ids = self.tokenizers.source.encode_batch(sources)
        target_ids = self.tokenizers.target.encode_batch(targets)
        self._refuse_over_long(source_ids, "source", first_line)
        self._refuse_over_long(target_ids, "target", first_line)
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(source_ids, target_ids, strict=True)]
        scores: list[Score | None] = [None] * len(sources)
        with self._evaluating():
            for batch in token_batches(lengths, budget):
                batch_targets = [target_ids[index] for index in batch]
                values = token_log_probabilities(self.model, [source_ids[index] for index in batch], batch_targets)
                for index, per_token in zip(batch, values, strict=True):
                    scores[index] = Score(self.tokenizers.target.pieces([*target_ids[index], EOS_ID]), per_token)
                if progress:
                    progress.advance(len(batch))
        return [score for score in scores if score is not None]

    def _translate(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        best: int,
        progress: Task | None,
        first_line: int,
        prefixes: Sequence[str] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Translation]]:
        check_best(best, search)
        check_texts(texts, first_line)
        translations = [[EMPTY] for _ in texts]
        filled = [index for index, text in enumerate(texts) if text.strip()]
        encoded = self.tokenizers.source.encode_batch([texts[index] for index in filled])
        sources = [
            self._with_end_mark(source, first_line + index) for index, source in zip(filled, encoded, strict=True)
        ]
        beginnings: list[list[int]] = []
        if prefixes is not None:
            check_prefixes(prefixes, texts, first_line)
            beginnings = encode_prefixes(self.tokenizers.target, [prefixes[index] for index in filled])
            lines = [first_line + index for index in filled]
            check_room(beginnings, sources, lines, search, self.longest_target)
        if progress:
            progress.advance(len(texts) - len(filled))
        with self._evaluating():
            found = self._find(sources, search, best, beginnings, progress, watch)
        for index, hypotheses in zip(filled, found, strict=True):
            translations[index] = self._ranked(hypotheses, search)[:best]
            _warn_of_loop(translations[index][0], first_line + index)
        return translations

    def find(self, sources: list[list[int]]) -> list[list[Hypothesis]]:
        """All hypotheses that the model's own search has for each source, given as tokens with the end mark."""
        search = self.config.search
        with self._evaluating():
            return self._find(sources, search, search.width, [], None)

    def _find(
        self,
        sources: list[list[int]],
        search: SearchConfig,
        best: int,
        beginnings: list[list[int]],
        progress: Task | None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, in order; one that is watched is searched step by step."""

        def advance(count: int) -> None:
            if progress and count:
                progress.advance(count)

        wanted = search.width if search.mbr else best
        packed = self._packed(search, beginnings)
        if packed is not None and watch is None:
            return native_search(packed, sources, search, wanted, self.longest_target, advance)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        most_rows = LOGITS_AT_ONCE // (search.width * self.tokenizers.target.vocabulary_size)
        for batch in token_batches([len(source) for source in sources], search.batch_tokens, most_rows):
            given = [beginnings[index] for index in batch] if beginnings else ()
            hypotheses = self._search([sources[index] for index in batch], search, wanted, given, watch)
            for index, own in zip(batch, hypotheses, strict=True):
                found[index] = own
            advance(len(batch))
        return found

    def _packed(self, search: SearchConfig, beginnings: Sequence[Sequence[int]] = ()) -> PackedModel | None:
        """The model for a search that is wholly in C; None where such a search is done here, step by step."""
        wholly = search.beam <= MAX_BEAM and is_plain(search, beginnings)
        packed = packed_model(self._engine(search.compute))
        return packed if wholly else None

    def _search(
        self,
        sources: list[list[int]],
        search: SearchConfig,
        best: int,
        beginnings: Sequence[Sequence[int]] = (),
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of a batch."""
        searching = Searching(self.model, self._engine(search.compute), search, best, self.longest_target, watch)
        return searching.search(sources, beginnings)

    def _engine(self, compute: Compute) -> Engine:
        """What runs the model with such numbers; made once."""
        if compute not in self._engines:
            self._engines[compute] = engine_for(self.model, compute)
        return self._engines[compute]

    def _ranked(self, hypotheses: Sequence[Hypothesis], search: SearchConfig) -> list[Translation]:
        translations = [self._translation(hypothesis) for hypothesis in hypotheses]
        if not search.mbr:
            return translations
        order = by_utility([translation.text for translation in translations], hypotheses, search.sampling)
        return [replace(translations[index], utility=utility) for index, utility in order]

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        target = self.tokenizers.target
        # A text is one line, and so is its translation, whatever an untrained model may say.
        text = target.decode(hypothesis.tokens).replace("\n", " ")
        translation = Translation(
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=hypothesis.tokens,
            pieces=target.pieces(hypothesis.tokens),
            finished=hypothesis.finished,
            token_log_probabilities=hypothesis.token_log_probabilities,
            looped=hypothesis.looped,
        )
        if self.calibration is None:
            return translation
        return replace(translation, confidence=self.calibration.confidence(translation.mean_log_probability))

    def _search_config(self, options: SearchOptions) -> SearchConfig:
        """The model's own search settings with those of this call over them."""
        return search_config(self.config.search, options)

    def _with_end_mark(self, source: list[int], line: int) -> list[int]:
        """The source as the model takes it; what it cannot read of a line is left out, with a warning."""
        room = self.longest_source - 1
        if len(source) > room:
            warnings.warn(
                f"line {line}: {len(source)} tokens are more than the {room} that the model can read, so the end of "
                "the line is left out; split it into sentences",
                stacklevel=2,
            )
            source = source[:room]
        return [*source, EOS_ID]

    def _refuse_over_long(self, rows: Sequence[Sequence[int]], side: str, first_line: int) -> None:
        room = self.longest_source - 1
        for number, row in enumerate(rows, start=first_line):
            if len(row) > room:
                raise InputError(
                    f"line {number}: its {side} has {len(row)} tokens, more than the {room} that can be scored at "
                    "once; split it into sentences"
                )

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """No dropout meanwhile; a model that is being trained is given back as it was."""
        was_training = self.model.training
        if was_training:
            self.model.eval()
        try:
            yield
        finally:
            if was_training:
                self.model.train()


def _warn_of_loop(translation: Translation, line: int) -> None:
    if translation.looped:
        warnings.warn(
            f"line {line}: the translation says the same over and over, so it was stopped "
            f"({' '.join(translation.pieces[-8:])}); the model knows too little of such text",
            stacklevel=2,
        )
