"""`regard translate` under control: glossaries, spans to keep, documents, alignments and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from regard import figures, progress
from regard.commands.translating import Languages, TranslationFiles, open_translator
from regard.errors import InputError
from regard.models.ensemble import Average
from regard.options import ControlFlags
from regard.progress import Task, task
from regard.search.alignment import Aligner
from regard.search.confidence import CALIBRATION
from regard.search.constrained_translation import refuse_other_searches
from regard.search.control import ControlledTranslator
from regard.search.control_report import ControlledTranslation, ControlReport
from regard.search.documents import translate_document
from regard.search.options import SearchOptions
from regard.search.translator import Translator
from regard.streams import LineWriter, line_writer, read_blocks, read_text, text_writer
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder, parse_kinds, read_strings


def translate_controlled(
    folders: Sequence[Path],
    files: TranslationFiles,
    languages: Languages,
    flags: ControlFlags,
    best: int | None,
    average: Average,
    engine: str,
    **search: Unpack[SearchOptions],
) -> None:
    """Translate lines or a document as the flags ask."""
    flags.check(best)
    files.check(read=(flags.glossary, flags.keep_file), written=(flags.alignment, flags.report))
    if files.prefixes is not None:
        raise InputError(f"--prefix does not go with {flags.given[0]}; leave out one of them")
    glossary = Glossary.load(flags.glossary) if flags.glossary else None
    strings = read_strings(flags.keep_file) if flags.keep_file else []
    kinds = parse_kinds(flags.keep) if flags.keep is not None else ()
    keep = SpanFinder(kinds, strings) if kinds or strings else None
    if (glossary or keep) and engine != "regard":
        raise InputError(f"--engine {engine} cannot be held to terms and spans; leave it out")
    if flags.confidence and len(folders) > 1:
        raise InputError("--confidence is calibrated for one model: name one, or leave --confidence out")
    translator = open_translator(folders, average, engine)
    translator = languages.chosen(folders[0], translator)
    if flags.confidence and translator.calibration is None:
        raise InputError(f"{folders[0]}: has no {CALIBRATION} for its weights; make it with `regard calibrate`")
    translator.translate([], **search)  # a wrong option is said before a line is read
    if glossary or keep:
        refuse_other_searches(translator, search)
    report = ControlReport()
    run = _Run(translator.controlled(glossary, keep), report, search)
    with task("translating") as work:
        if flags.document:
            with text_writer(files.output) as write:
                text = read_text(files.source)
                write(
                    translate_document(
                        translator, text, lambda texts: [each.text for each in run.translate(texts, work)]
                    )
                )
        else:
            _lines(translator, files, flags, run, work)
    if glossary or keep:
        progress.note(report.to_text())
    if flags.report is not None:
        figures.write_figures(flags.report, report.to_json())


@dataclass
class _Run:
    """Translations under control, with a report that grows."""

    controlled: ControlledTranslator
    report: ControlReport
    search: SearchOptions

    def translate(self, texts: Sequence[str], work: Task) -> list[ControlledTranslation]:
        first_line = self.report.lines + 1
        found = self.controlled.translate(texts, progress=work, first_line=first_line, **self.search)
        self.report.add(found)
        return found


def _lines(translator: Translator, files: TranslationFiles, flags: ControlFlags, run: _Run, work: Task) -> None:
    aligner = Aligner(translator, flags.alignment_layer) if flags.alignment else None
    with ExitStack() as stack:
        writer = stack.enter_context(line_writer(files.output))
        links: LineWriter | None = (
            stack.enter_context(line_writer(flags.alignment, "--alignment")) if flags.alignment else None
        )
        for block in read_blocks(files.source):
            found = run.translate(block, work)
            writer.write([_line(each, flags.confidence) for each in found])
            if links and aligner:
                links.write(map(str, aligner.align(block, [each.text for each in found])))


def _line(found: ControlledTranslation, confidence: bool) -> str:
    """A line of output; what the model was not asked for has no confidence in front of its TAB."""
    if not confidence:
        return found.text
    value = found.translation.confidence
    return f"{'' if value is None else f'{value:.3f}'}\t{found.text}"
