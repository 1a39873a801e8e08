"""A trained model in use: text in, translations or scores out, in batches, in order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, TypedDict, Unpack

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError
from regard.models.folder import LoadedModel, load_model
from regard.progress import Task
from regard.recipe import parse_config
from regard.search.alignment import Aligner, Alignment
from regard.search.batching import pad, token_batches
from regard.search.beam import beam_search
from regard.search.confidence import Calibration
from regard.search.control import ControlledTranslator
from regard.search.documents import translate_document
from regard.search.engine import engine_for
from regard.search.greedy import greedy_search
from regard.search.hypotheses import Hypothesis
from regard.search.rules import check_best
from regard.search.scoring import Score, token_log_probabilities
from regard.search.texts import check_texts, chunks
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder

LONGEST_SOURCE = 2048
"""Tokens of an input that are read, where the model's positions set no limit: attention grows with their square."""


LOGITS_AT_ONCE = 2**26
"""A batch has no more sentences than make so many logits a step: wide beams over large vocabularies need memory."""


class SearchOptions(TypedDict, total=False):
    """What may be asked for one call; the rest, or None, is as the model's configuration says (`[search]`)."""

    beam: int | None
    length_penalty: Literal["paper", "mean", "none"] | None
    alpha: float | None
    max_length_factor: float | None
    max_length_extra: int | None
    batch_tokens: int | None


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
    """Whether the model ended it; otherwise the length limit did."""
    confidence: float | None = None
    """The chance from 0 to 1 that it is good; None where the model has not been calibrated."""

    @property
    def mean_log_probability(self) -> float:
        """Log-probability by token, the end mark included."""
        return self.log_probability / max(1, len(self.tokens) + self.finished)


EMPTY = Translation("", 0.0, 0.0, [], [], True)


class Translator:
    """Translates and scores with one model; `regard.load(folder)` gives one."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.model, self.config, self.tokenizers = loaded.model, loaded.config, loaded.tokenizers
        self._engine = engine_for(self.model)
        learned = self.config.model.positions == "learned"
        self._longest_source = self.config.model.max_positions if learned else LONGEST_SOURCE
        self._longest_target = self.config.model.max_positions if learned else None
        self.calibration: Calibration | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder."""
        translator = cls(load_model(folder))
        translator.calibration = Calibration.load(Path(folder))
        return translator

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of the source and of the target language."""
        return self.config.data.source_language, self.config.data.target_language

    def translate(
        self,
        texts: Sequence[str],
        *,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[str]:
        """The best translation of each text, in order; an empty or blank text has an empty one.

        `progress` is advanced by each text; `first_line` is the number of the first text in warnings and errors.
        """
        search = self._search_config(options)
        return [found[0].text for found in self._translate(texts, search, 1, progress, first_line)]

    def translate_nbest(
        self,
        texts: Sequence[str],
        best: int | None = None,
        *,
        progress: Task | None = None,
        first_line: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[list[Translation]]:
        """The `best` translations of each text (None: as many as the beam holds), best first."""
        search = self._search_config(options)
        return self._translate(texts, search, search.beam if best is None else best, progress, first_line)

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
        self, texts: Sequence[str], search: SearchConfig, best: int, progress: Task | None, first_line: int
    ) -> list[list[Translation]]:
        check_best(best, search)
        check_texts(texts, first_line)
        translations = [[EMPTY] for _ in texts]
        filled = [index for index, text in enumerate(texts) if text.strip()]
        encoded = self.tokenizers.source.encode_batch([texts[index] for index in filled])
        sources = [
            self._with_end_mark(source, first_line + index) for index, source in zip(filled, encoded, strict=True)
        ]
        if progress:
            progress.advance(len(texts) - len(filled))
        most_rows = LOGITS_AT_ONCE // (search.beam * self.tokenizers.target.vocabulary_size)
        with self._evaluating():
            for batch in token_batches([len(source) for source in sources], search.batch_tokens, most_rows):
                found = self._search([sources[index] for index in batch], search, best)
                for index, hypotheses in zip(batch, found, strict=True):
                    translations[filled[index]] = [self._translation(hypothesis) for hypothesis in hypotheses]
                if progress:
                    progress.advance(len(batch))
        return translations

    def _search(self, sources: list[list[int]], search: SearchConfig, best: int) -> list[list[Hypothesis]]:
        source, source_mask = pad(sources, self.model.device)
        if search.beam == best == 1:
            return greedy_search(self._engine, source, source_mask, search, self._longest_target)
        return beam_search(self._engine, source, source_mask, search, best, self._longest_target)

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
        )
        if self.calibration is None:
            return translation
        return replace(translation, confidence=self.calibration.confidence(translation.mean_log_probability))

    def _search_config(self, options: SearchOptions) -> SearchConfig:
        """The model's own search settings with those of this call over them, checked as a recipe's are."""
        given = {name: value for name, value in options.items() if value is not None}
        settings = {**self.config.search.model_dump(), **given}
        return parse_config({"search": settings}, where="the search options").search

    def _with_end_mark(self, source: list[int], line: int) -> list[int]:
        """The source as the model takes it; what it cannot read of a line is left out, with a warning."""
        room = self._longest_source - 1
        if len(source) > room:
            warnings.warn(
                f"line {line}: {len(source)} tokens are more than the {room} that the model can read, so the end of "
                "the line is left out; split it into sentences",
                stacklevel=2,
            )
        return [*source[:room], EOS_ID]

    def _refuse_over_long(self, rows: Sequence[Sequence[int]], side: str, first_line: int) -> None:
        room = self._longest_source - 1
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
