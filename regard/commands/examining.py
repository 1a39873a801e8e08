"""`regard doctor` and `regard split`: the corpora of a recipe, or files, examined or divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.config import CorpusConfig
from regard.data.corpus import corpus_files
from regard.data.diagnosis import Report
from regard.data.division import Division, divide
from regard.data.doctor import examine
from regard.errors import InputError
from regard.recipe import load_config, parse_config


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus as the command line names it, and the languages of its sides, where they were said."""

    source: Path | None = None
    target: Path | None = None
    pairs: Path | None = None
    source_language: str | None = None
    target_language: str | None = None

    def named(self) -> dict[str, str]:
        """The files that were given, as a recipe has them."""
        paths = {"source": self.source, "target": self.target, "pairs": self.pairs}
        return {side: str(path) for side, path in paths.items() if path is not None}

    def corpus(self, doing: str) -> CorpusConfig:
        """The one corpus that was named."""
        return parse_config({"data": {"train": [self.named()]}}, where=f"the files to {doing}").data.train[0]


def examine_files(files: CorpusFiles, against: Sequence[Path], examples: int) -> Report:
    """Examine two aligned files, or one with pairs."""
    if not files.named():
        raise InputError("name what to examine: a recipe, --source and --target, or --pairs")
    return examine(
        files.corpus("examine"),
        against=against,
        source_language=files.source_language,
        target_language=files.target_language,
        examples=_at_least_none(examples),
    )


def examine_recipe(recipe: Path, files: CorpusFiles, against: Sequence[Path], examples: int) -> Report:
    """Examine the training text of a recipe; its validation text must not be in there."""
    if files.named():
        raise InputError("name either a recipe or files to examine, not both")
    data = load_config(recipe).data
    if not data.train:
        raise InputError(f"{recipe}: `data.train` names no corpus to examine")
    one_pair = len(data.pairs) == 1  # of several, each file's name tells
    return examine(
        _each_once(data.train),
        data,
        against=[*data.validation, *against],
        source_language=files.source_language or (data.source_language if one_pair else None),
        target_language=files.target_language or (data.target_language if one_pair else None),
        examples=_at_least_none(examples),
    )


def _each_once(corpora: Sequence[CorpusConfig]) -> list[CorpusConfig]:
    """Corpora without those that only say once more who makes a side of the same files."""
    by_people = [corpus for corpus in corpora if not corpus.made_by]
    files = {corpus_files(corpus): corpus for corpus in corpora if corpus.made_by}
    for corpus in by_people:
        files.pop(corpus_files(corpus), None)
    return [*by_people, *files.values()]


def divide_files(files: CorpusFiles, output: Path, validation: int | None, test: int | None, seed: int) -> Division:
    """Divide two aligned files, or one with pairs, into parts."""
    if not files.named():
        raise InputError("name what to divide: --source and --target, or --pairs")
    languages = (files.source_language, files.target_language)
    return divide(files.corpus("divide"), output, validation=validation, test=test, languages=languages, seed=seed)


def _at_least_none(examples: int) -> int:
    if examples < 0:
        raise InputError(f"--examples is {examples}: it must be 0 or more")
    return examples
