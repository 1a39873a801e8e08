"""From finished runs to the page of docs/results/ about them: what was measured once, and nothing else.

    python benchmarks/report.py --name "Multi30k en-de" --recipe recipes/multi30k-en-de-tiny.toml \\
        --runs runs/en-de-1 runs/en-de-2 runs/en-de-3 --tokenize none \\
        --source data/multi30k/tok/test_2016_flickr.en.gz --reference data/multi30k/tok/test_2016_flickr.de.gz \\
        --published "Transformer-Tiny (Wu et al. 2021)=41.02" --also ensemble mbr --output docs/results/en-de

Writes docs/results/en-de.md and, in the folder docs/results/en-de, its pictures, the translations and figures.json. The
figures also go into the model card of each run. A model translates a test set once: that is kept in its folder, in
`tested/`, and done again only when its weights, its search or the text are others.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from report_parts.found import Measured, Published, Report, Several
from report_parts.held_out import HeldOut, System, measure, translate_once
from report_parts.page import search_words, write_page
from report_parts.pictures import draw_attention, draw_curves
from report_parts.runs import FinishedRun, read_runs, shown, train_command
from report_parts.samples import choose_samples
from train_systems.machine import machine

from regard import card, progress
from regard.atomic import write_file
from regard.commands.translating import Languages
from regard.errors import RegardError
from regard.evaluate.metrics import bleu_metric
from regard.explain.canvas import check_matplotlib
from regard.figures import check_destination, json_text, publish
from regard.models.folder import CARD
from regard.search.options import SearchOptions

SINGLE = "single model"
ALSO: dict[str, tuple[str, bool, SearchOptions]] = {
    "greedy": ("single model, greedy", False, {"beam": 1}),
    "mbr": ("single model, minimum Bayes risk", False, {"beam": 10, "mbr": True}),
    "ensemble": ("ensemble of the runs", True, {}),
    "ensemble-mbr": ("ensemble of the runs, minimum Bayes risk", True, {"beam": 10, "mbr": True}),
}
"""Other systems by name: what they are called, whether all runs are one system, and what changes in the search."""


def other_systems(asked: Sequence[str], runs: Sequence[FinishedRun]) -> dict[str, list[System]]:
    """The systems that are reported apart: known ones, and models of other folders as NAME=FOLDER[,FOLDER]."""
    folders = tuple(run.folder for run in runs)
    found: dict[str, list[System]] = {}
    for text in asked:
        name, equals, others = text.partition("=")
        if equals and name.strip() and others:
            found[name.strip()] = [System(tuple(Path(folder) for folder in others.split(",")))]
        elif text in ALSO:
            title, together, options = ALSO[text]
            if together and len(folders) < 2:
                raise RegardError(f"--also {text}: needs several runs, and there is one")
            groups = [folders] if together else [(folder,) for folder in folders]
            found[title] = [System(group, options) for group in groups]
        else:
            raise RegardError(f"--also {text!r}: use {', '.join(ALSO)}, or NAME=FOLDER for another model")
    return found


def make_report(arguments: argparse.Namespace, command: str) -> Report:
    """Read, translate what was not translated yet, and measure."""
    languages = Languages(arguments.from_language, arguments.to_language)
    runs = read_runs(arguments.runs)
    published = [Published.parse(text) for text in arguments.published]
    others = other_systems(arguments.also, runs)
    trained_by = [train_command(run, arguments.recipe) for run in runs] if arguments.recipe else []
    data = runs[0].config.data
    pair = (languages.source or data.source_language, languages.target or data.target_language)
    for system in (System((runs[0].folder,)), *(system for systems in others.values() for system in systems)):
        system.check(pair)
    bleu_metric(pair[1], arguments.tokenize)
    held_out = HeldOut(arguments.source, tuple(arguments.reference), languages)

    def measured(name: str, systems: Sequence[System]) -> Several:
        found = []
        for system in systems:
            translated = translate_once(system, held_out)
            evaluation = measure(translated.hypotheses, held_out, pair, arguments.tokenize)
            found.append(Measured(system, translated, evaluation))
        return Several(name, found)

    single = measured(SINGLE, [System((run.folder,)) for run in runs])
    return Report(
        name=arguments.name,
        command=command,
        runs=runs,
        held_out=held_out,
        tokenize=arguments.tokenize,
        single=single,
        also=[measured(name, systems) for name, systems in others.items()],
        published=published,
        samples=choose_samples(held_out, single.measured[0].translated.hypotheses),
        machine=machine(),
        trained_by=trained_by,
        note=arguments.note,
    )


def write_report(report: Report, output: Path) -> Path:
    """Write the page, the files that it shows, and the figures into the runs' cards."""
    page = output.parent / f"{output.name}.md"
    first = report.runs[0]
    curves = draw_curves([run.folder for run in report.runs], output / "curves.png")
    attention = draw_attention(first.folder, report.held_out, report.samples.drawn, output)
    translations = []
    for run, each in zip(report.runs, report.single.measured, strict=True):
        path = output / f"translations-{run.seed}.txt"
        write_file(path, "".join(f"{text}\n" for text in each.translated.hypotheses).encode())
        translations.append(path)
        if (run.folder / CARD).exists():
            told = _with_test(report, each, (run.folder / CARD).read_text(encoding="utf-8"))
            write_file(run.folder / CARD, told.encode())
    written = card.write(first.config, {"validation": None, **first.figures, "run": shown(first.folder)})
    told = _with_test(report, report.single.measured[0], written)
    write_file(output / "figures.json", json_text(report.to_json()).encode())
    write_file(page, write_page(report, page, translations, curves, attention, told).encode())
    return page


def _with_test(report: Report, measured: Measured, text: str) -> str:
    test = f"{report.name}, `{report.held_out.source.name}`, {search_words(measured.system.search)}"
    return card.with_test(text, test, measured.evaluation)


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="what the page is called")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="finished runs of one recipe, one a seed")
    parser.add_argument("--source", type=Path, required=True, help="the sentences of the test set")
    parser.add_argument("--reference", type=Path, nargs="+", required=True, help="right translations of them")
    parser.add_argument("--output", type=Path, required=True, help="the page, without .md, and the folder of its files")
    parser.add_argument("--recipe", type=Path, help="what the runs ran: their commands stand on the page")
    parser.add_argument("--tokenize", help="BLEU's tokenization; by default the language's")
    parser.add_argument("--from", dest="from_language", metavar="CODE", help="of a model of several pairs")
    parser.add_argument("--to", dest="to_language", metavar="CODE", help="of a model of several pairs")
    parser.add_argument("--published", metavar="NAME=BLEU", nargs="+", action="extend", default=[], help="to compare")
    parser.add_argument(
        "--also", metavar="SYSTEM", nargs="+", action="extend", default=[], help=f"{', '.join(ALSO)}, or NAME=FOLDER"
    )
    parser.add_argument("--note", default="", help="a paragraph for the top of the page")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    arguments = parser.parse_args(given)
    if arguments.output.suffix == ".md":
        arguments.output = arguments.output.with_suffix("")
    return arguments


def command_of(given: Sequence[str]) -> str:
    """The command as a reader can repeat it, an option a line."""
    words = "".join(f" \\\n    {word}" if word.startswith("--") else f" {word}" for word in map(shlex.quote, given))
    return f".venv/bin/python benchmarks/report.py{words}"


def run(given: Sequence[str]) -> None:
    """All of it, from the words after the command."""
    arguments = parse(given)
    check_destination(arguments.json)
    check_matplotlib()
    report = make_report(arguments, command_of(given))
    page = write_report(report, arguments.output)
    publish(report, arguments.json)
    progress.note(f"page: {page}")


def main() -> None:
    progress.show()
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        run(sys.argv[1:])
    except RegardError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
