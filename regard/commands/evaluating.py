"""`regard evaluate`: files in, an evaluation out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from regard.commands.files import aligned_lines
from regard.commands.translating import Languages
from regard.errors import InputError
from regard.evaluate.evaluation import EvaluationOptions, OtherSystem, evaluate_system, evaluate_texts
from regard.evaluate.report import Evaluation
from regard.progress import task
from regard.search.options import SearchOptions
from regard.search.translator import Translator
from regard.streams import line_writer


@dataclass(frozen=True)
class EvaluationFiles:
    """The files of an evaluation: a model makes the translations of `source`, or they are there as `hypothesis`."""

    references: Sequence[Path]
    source: Path | None = None
    hypothesis: Path | None = None
    against: Path | None = None
    output: Path | None = None

    def other_system(self, first: Path) -> OtherSystem | None:
        """The system to compare with, its lines aligned with those of `first`."""
        if self.against is None:
            return None
        return OtherSystem(str(self.against), aligned_lines(first, self.against)[1])


def evaluate_files(
    folders: Sequence[Path],
    files: EvaluationFiles,
    options: EvaluationOptions,
    by_length: bool = False,
    languages: Languages | None = None,
    **search: Unpack[SearchOptions],
) -> Evaluation:
    """Measure a model (several: an ensemble) on aligned files, or translations that are there.

    With `by_length`, by the length of their sources, too.
    """
    if by_length and files.source is None:
        raise InputError("--by-length looks at the sentences that were translated: name them with --source")
    evaluation = _evaluate(folders, files, options, languages or Languages(), **search)
    return evaluation if by_length else dataclasses.replace(evaluation, by_length=())


def _evaluate(
    folders: Sequence[Path],
    files: EvaluationFiles,
    options: EvaluationOptions,
    languages: Languages,
    **search: Unpack[SearchOptions],
) -> Evaluation:
    if files.hypothesis is not None and not folders:
        idle = next((name for name, value in search.items() if value is not None), None)
        if idle is not None:
            flag = f"--{idle.replace('_', '-')}"
            raise InputError(f"{flag} is for a model that searches, and --hypothesis is there already; leave it out")
        if files.output is not None:
            raise InputError("--output is for what a model says, and --hypothesis is there already; leave it out")
        given = dataclasses.replace(
            options, source_language=languages.source or "", target_language=languages.target or ""
        )
        return _evaluate_translations(files.hypothesis, files, given)
    if not folders or files.hypothesis is not None:
        raise InputError("name either a model folder or, with --hypothesis, a file of translations")
    if files.source is None:
        raise InputError("a model needs sentences to translate: name them with --source")
    sources, *references = aligned_lines(files.source, *files.references)
    against = files.other_system(files.source)
    translator = languages.chosen(folders[0], Translator.load(*folders))
    with task("translating", len(sources)) as work:
        evaluation = evaluate_system(
            translator, sources, references, against=against, options=options, progress=work, **search
        )
    if files.output is not None:
        with line_writer(files.output) as writer:
            writer.write(evaluation.hypotheses)
    return evaluation


def _evaluate_translations(hypothesis: Path, files: EvaluationFiles, options: EvaluationOptions) -> Evaluation:
    hypotheses, *references = aligned_lines(hypothesis, *files.references)
    sources = aligned_lines(hypothesis, files.source)[1] if files.source is not None else None
    against = files.other_system(hypothesis)
    return evaluate_texts(hypotheses, references, sources=sources, against=against, options=options)
