"""`regard translate`: lines through a model, in order, each as soon as it can be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar, Unpack

from regard.data.lines import check_readable, read_lines
from regard.errors import InputError
from regard.figures import same_file
from regard.models.ensemble import Average
from regard.progress import task
from regard.search.options import SearchOptions
from regard.search.translator import Translation, Translator
from regard.streams import line_writer, read_blocks

AnyTranslator = TypeVar("AnyTranslator", bound=Translator)


@dataclass(frozen=True)
class TranslationFiles:
    """Where lines come from and go to; None is standard input or output."""

    source: Path | None = None
    output: Path | None = None
    prefixes: Path | None = None
    """What each line's translation begins with."""

    def check(self, read: Sequence[Path | None] = (), written: Sequence[Path | None] = ()) -> None:
        """Refuse, before a model is loaded, what cannot be read or would be destroyed, of these files and others."""
        sources = [path for path in (self.source, self.prefixes, *read) if path is not None]
        results = [path for path in (self.output, *written) if path is not None]
        for path in sources:
            check_readable(path)
        for number, result in enumerate(results):
            if any(same_file(result, path) for path in sources):
                raise InputError(f"{result}: is the input too; name another file for the output")
            if any(same_file(result, other) for other in results[:number]):
                raise InputError(f"{result}: two results would go into this file; name another one for one of them")

    def blocks(self) -> Iterator[tuple[list[str], list[str] | None]]:
        """The lines, block by block, with their prefixes, if there are any; both must have as many lines."""
        if self.prefixes is None:
            yield from ((block, None) for block in read_blocks(self.source))
            return
        prefixes, number = read_lines(self.prefixes), 0
        for block in read_blocks(self.source):
            beginnings = list(islice(prefixes, len(block)))
            number += len(beginnings)
            if len(beginnings) < len(block):
                raise InputError(
                    f"{self.prefixes}: ends with line {number}, but the input goes on; each line needs one"
                )
            yield block, beginnings
        if next(prefixes, None) is not None:
            raise InputError(
                f"{self.prefixes}: goes on after line {number}, where the input ends; are the two aligned?"
            )


@dataclass(frozen=True)
class Languages:
    """The languages that a user expects a model to translate from and to, where they said so."""

    source: str | None = None
    target: str | None = None

    def chosen(self, folder: Path, translator: AnyTranslator) -> AnyTranslator:
        """The translator for these languages, of those that its model has; a model without them is refused."""
        try:
            return translator.between(self.source, self.target)
        except InputError as error:
            raise InputError(f"{folder}: {error}") from None


def open_translator(folders: Sequence[Path], average: Average, engine: str = "regard") -> Translator:
    """A model, or an ensemble, in regard's own engine, or one model in CTranslate2."""
    if engine == "regard":
        return Translator.load(*folders, average=average)
    from regard.portability.ctranslate2_engine import CTranslate2Translator

    if len(folders) > 1:
        raise InputError("--engine ctranslate2 takes one model, for an ensemble is regard's own; leave --engine out")
    return CTranslate2Translator.load(folders[0])


def translate_lines(
    folders: Sequence[Path],
    files: TranslationFiles,
    languages: Languages,
    best: int | None = None,
    average: Average = "probabilities",
    engine: str = "regard",
    **search: Unpack[SearchOptions],
) -> None:
    """Translate line for line; with `best`, so many translations of each line, with its number and their scores.

    Several model folders are an ensemble.
    """
    files.check()
    translator = open_translator(folders, average, engine)
    translator = languages.chosen(folders[0], translator)
    if files.prefixes is not None and engine != "regard":
        raise InputError(f"--engine {engine} takes no --prefix; leave one of them out")
    translator.translate_nbest([], best, **search)  # a wrong option is said before a line is read
    first_line = 1
    with line_writer(files.output) as writer, task("translating") as work:
        for block, prefixes in files.blocks():
            if best is None:
                writer.write(
                    translator.translate(block, prefixes=prefixes, progress=work, first_line=first_line, **search)
                )
            else:
                found = translator.translate_nbest(
                    block, best, prefixes=prefixes, progress=work, first_line=first_line, **search
                )
                writer.write(_nbest_lines(found, first_line))
            first_line += len(block)


def _nbest_lines(found: Sequence[Sequence[Translation]], first_line: int) -> list[str]:
    """A line for each translation: the number of its input, what it is ranked by, its text, with tabs between them."""
    return [
        f"{number}\t{_rank(translation):.4f}\t{translation.text}"
        for number, translations in enumerate(found, start=first_line)
        for translation in translations
    ]


def _rank(translation: Translation) -> float:
    return translation.score if translation.utility is None else translation.utility
