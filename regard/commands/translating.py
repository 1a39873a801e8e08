"""`regard translate`: lines through a model, in order, each as soon as it can be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from regard.data.lines import check_readable
from regard.errors import InputError
from regard.progress import task
from regard.search.translator import SearchOptions, Translation, Translator
from regard.streams import line_writer, read_blocks


@dataclass(frozen=True)
class TranslationFiles:
    """Where lines come from and go to; None is standard input or output."""

    source: Path | None = None
    output: Path | None = None

    def check(self) -> None:
        """Refuse, before a model is loaded, what cannot be read or would be destroyed."""
        if self.source is None:
            return
        check_readable(self.source)
        if self.output is not None and self.output.exists() and self.output.samefile(self.source):
            raise InputError(f"{self.output}: is the input too; name another file for the output")


@dataclass(frozen=True)
class Languages:
    """The languages that a user expects a model to translate from and to, where they said so."""

    source: str | None = None
    target: str | None = None

    def check(self, folder: Path, translator: Translator) -> None:
        """Refuse a model of other languages."""
        source, target = translator.languages
        for side, wanted, has in (("from", self.source, source), ("to", self.target, target)):
            if wanted is not None and wanted != has:
                raise InputError(f"{folder}: translates {source} to {target}, not {side} {wanted}; name another model")


def open_translator(folder: Path, engine: str = "regard") -> Translator:
    """A model in regard's own engine, or in CTranslate2."""
    if engine == "ctranslate2":
        from regard.portability.ctranslate2_engine import CTranslate2Translator

        return CTranslate2Translator.load(folder)
    return Translator.load(folder)


def translate_lines(
    folder: Path,
    files: TranslationFiles,
    languages: Languages,
    best: int | None = None,
    engine: str = "regard",
    **search: Unpack[SearchOptions],
) -> None:
    """Translate line for line; with `best`, so many translations of each line, with its number and their scores."""
    files.check()
    translator = open_translator(folder, engine)
    languages.check(folder, translator)
    translator.translate([], **search)  # a wrong option is said before a line is read
    first_line = 1
    with line_writer(files.output) as writer, task("translating") as work:
        for block in read_blocks(files.source):
            if best is None:
                writer.write(translator.translate(block, progress=work, first_line=first_line, **search))
            else:
                found = translator.translate_nbest(block, best, progress=work, first_line=first_line, **search)
                writer.write(_nbest_lines(found, first_line))
            first_line += len(block)


def _nbest_lines(found: Sequence[Sequence[Translation]], first_line: int) -> list[str]:
    """A line for each translation: the number of its input, its score, its text, with tabs between them."""
    return [
        f"{number}\t{translation.score:.4f}\t{translation.text}"
        for number, translations in enumerate(found, start=first_line)
        for translation in translations
    ]
