"""Evaluating: from translations, or from a system that makes them, to a report."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from regard.errors import CorpusError, InputError
from regard.evaluate.bootstrap import SAMPLES, SEED, confidence_interval, paired_bootstrap
from regard.evaluate.metrics import (
    Measurement,
    References,
    bleu_metric,
    chrf_metric,
    exact_match,
    reference_lists,
)
from regard.evaluate.report import Bootstrap, Comparison, Evaluation, LengthBucket
from regard.progress import Task
from regard.search.options import SearchOptions
from regard.search.translator import Translator
from regard.text.languages import writes_spaces

LENGTHS = (5, 10, 15, 20, 30, 40, 50)
"""The longest length of each bucket of `by_length`; one more holds what is longer."""


@dataclass(frozen=True)
class EvaluationOptions:
    """How translations are measured."""

    source_language: str = ""
    """Says whether a source's length is counted in words or in characters."""
    target_language: str = ""
    """Chooses the tokenization of BLEU where none is given."""
    tokenize: str | None = None
    lowercase: bool = False
    chrf_words: int = 0
    """2 makes chrF chrF++."""
    samples: int = SAMPLES
    """For the bootstrap; 0: none."""
    seed: int = SEED


@dataclass(frozen=True)
class OtherSystem:
    """Another system's translations of the same sentences."""

    name: str
    hypotheses: Sequence[str]


def evaluate_system(
    translator: Translator,
    sources: Sequence[str],
    references: References,
    *,
    against: OtherSystem | None = None,
    options: EvaluationOptions | None = None,
    progress: Task | None = None,
    **search: Unpack[SearchOptions],
) -> Evaluation:
    """Translate the sources, with the time it takes, and measure. Options without languages get the model's."""
    reference_lists(sources, references, "sources")  # a mistake is said before the work is done
    options = options or EvaluationOptions()
    source_language, target_language = translator.languages
    options = dataclasses.replace(
        options,
        source_language=options.source_language or source_language,
        target_language=options.target_language or target_language,
    )
    _check_request(len(sources), against, options)
    started = time.perf_counter()
    hypotheses = translator.translate(sources, progress=progress, **search)
    seconds = time.perf_counter() - started
    evaluation = evaluate_texts(hypotheses, references, sources=sources, against=against, options=options)
    return dataclasses.replace(evaluation, seconds=seconds)


def evaluate_texts(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    against: OtherSystem | None = None,
    options: EvaluationOptions | None = None,
) -> Evaluation:
    """Measure translations that are there; with `sources`, by their lengths too."""
    options = options or EvaluationOptions()
    _check_request(len(hypotheses), against, options)
    if sources is not None and len(sources) != len(hypotheses):
        raise CorpusError(f"{len(sources)} sources, but {len(hypotheses)} hypotheses: each line needs its own")
    bleu, chrf = _measure(hypotheses, references, options)
    return Evaluation(
        hypotheses=tuple(hypotheses),
        bleu=bleu.score,
        chrf=chrf.score,
        exact_match=exact_match(hypotheses, references),
        bootstrap=_bootstrap(bleu, chrf, options),
        by_length=tuple(_by_length(_lengths(sources, options), bleu, chrf)) if sources is not None else (),
        length_unit=_length_unit(options),
        comparison=_compare(bleu, chrf, against, references, options) if against else None,
        remarks=tuple(_remarks(hypotheses, references, options)),
    )


def _check_request(sentences: int, against: OtherSystem | None, options: EvaluationOptions) -> None:
    bleu_metric(options.target_language, options.tokenize)
    if options.samples < 0 or (against and not options.samples):
        raise InputError(f"{options.samples} bootstrap samples: a comparison needs at least 1, say {SAMPLES}")
    if against and len(against.hypotheses) != sentences:
        raise CorpusError(f"{against.name} has {len(against.hypotheses)} lines, but {sentences} sentences are measured")


def _measure(
    hypotheses: Sequence[str], references: References, options: EvaluationOptions
) -> tuple[Measurement, Measurement]:
    bleu = bleu_metric(options.target_language, options.tokenize, options.lowercase)
    chrf = chrf_metric(options.chrf_words, options.lowercase)
    return Measurement(bleu, hypotheses, references), Measurement(chrf, hypotheses, references)


def _bootstrap(bleu: Measurement, chrf: Measurement, options: EvaluationOptions) -> Bootstrap | None:
    if not options.samples:
        return None
    intervals = [confidence_interval(measurement, options.samples, options.seed) for measurement in (bleu, chrf)]
    return Bootstrap(options.samples, options.seed, *intervals)


def _compare(
    bleu: Measurement, chrf: Measurement, other: OtherSystem, references: References, options: EvaluationOptions
) -> Comparison:
    pairs = zip((bleu, chrf), _measure(other.hypotheses, references, options), strict=True)
    results = tuple(paired_bootstrap(ours, theirs, options.samples, options.seed) for ours, theirs in pairs)
    return Comparison(other.name, results, exact_match(other.hypotheses, references))


def _length_unit(options: EvaluationOptions) -> str:
    return "words" if writes_spaces(options.source_language) else "characters"


def _lengths(sources: Sequence[str], options: EvaluationOptions) -> list[int]:
    if _length_unit(options) == "characters":
        return [sum(not character.isspace() for character in source) for source in sources]
    return [len(source.split()) for source in sources]


def _by_length(lengths: Sequence[int], bleu: Measurement, chrf: Measurement) -> Iterator[LengthBucket]:
    found = np.array(lengths)
    shortest = 0
    for longest in (*LENGTHS, None):
        inside = (found >= shortest) & (found <= (longest if longest is not None else found.max()))
        if inside.any():
            counts = inside.astype(np.int64)
            yield LengthBucket(shortest, longest, int(counts.sum()), bleu.value(counts), chrf.value(counts))
        shortest = (longest or 0) + 1


def _remarks(hypotheses: Sequence[str], references: References, options: EvaluationOptions) -> Iterator[str]:
    empty = sum(not text.strip() for text in hypotheses)
    if empty:
        yield f"{empty:,} of {len(hypotheses):,} translations are empty."
    spaced = sum(text.endswith(" .") for text in reference_lists(hypotheses, references)[0])
    if spaced > len(hypotheses) / 2 and options.tokenize != "none":
        yield "most references end with ' .', so the text looks tokenized: BLEU with `none` suits it better."
