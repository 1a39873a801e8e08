"""What training costs as the work grows: tokens a second against width, depth, sentence length and corpus size.

    regard data multi30k
    .venv/bin/python benchmarks/train_growth.py --json growth.json --plot docs/images/growth.png

Every point is `regard train` in a process of its own, on Multi30k's text: longer sentences are neighbours joined,
larger corpora the same pairs again and again. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from growth_plot import Panel, draw_panels
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from train_speed import corpus_folder
from train_systems.machine import machine
from train_systems.prepare import recipe as base_recipe
from train_systems.regard_system import follow_run
from train_systems.settings import SHAPES, SOURCE, TARGET

from regard import progress
from regard.config import Config
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import RegardError
from regard.figures import check_destination, write_figures
from regard.models import build_model
from regard.recipe import format_config, parse_config

AXES: dict[str, tuple[int, ...]] = {
    "width": (64, 128, 256, 512),
    "depth": (1, 2, 4, 8),
    "joined": (1, 2, 4, 8),  # neighbouring sentences made one
    "pairs": (10_000, 100_000, 1_000_000),
}

LABELS = {
    "width": "width of the model",
    "depth": "layers in each half",
    "joined": "sentences made one",
    "pairs": "pairs in the corpus",
}


@dataclass(frozen=True)
class Point:
    """One measurement; all but one of its sizes are those of the shape `tiny`."""

    axis: str
    value: int
    parameters: int
    source_tokens_a_pair: float
    pairs: int
    start_seconds: float
    """From the command to the end of its first step, with the corpus prepared."""
    tokens_per_second: float
    peak_memory_mb: float
    own_memory_mb: float
    """Without the pages of files, which the system takes back when others need them."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES), help="default: all of them")
    parser.add_argument("--pairs", nargs="+", type=int, help="sizes of the corpus, instead of " + str(AXES["pairs"]))
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S", help="length of a measurement")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="holds multi30k/tok; default: REGARD_DATA, or data")
    parser.add_argument("--json", metavar="FILE", help="write all figures there (`-`: to standard output)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there")
    options = parser.parse_args(arguments)
    progress.show()
    try:
        check_destination(options.json)
        with tempfile.TemporaryDirectory(prefix="train_growth.") as work:
            points = list(_measure_all(options, corpus_folder(options.data).resolve(), Path(work)))
    except RegardError as error:
        print(f"train_growth: {error}", file=sys.stderr)
        return 1
    Console().print(_table(points))
    if options.json:
        write_figures(options.json, {"points": [asdict(point) for point in points], "machine": machine()})
    if options.plot:
        _plot(points, options.plot)
    return 0


def _measure_all(options: argparse.Namespace, data: Path, work: Path) -> Iterator[Point]:
    settings = [(axis, value) for axis in options.axes for value in (axis == "pairs" and options.pairs) or AXES[axis]]
    tokenizers = _tokenizers(data)
    with progress.task("measuring", len(settings)) as measuring:
        for axis, value in settings:
            point = _measure(axis, value, data, work, tokenizers, options.seconds)
            measuring.note(f"{axis} {value:,}: {point.tokens_per_second:,.0f} target tokens/s")
            measuring.advance(1)
            yield point


def _tokenizers(data: Path) -> Tokenizers:
    config = base_recipe(SHAPES["tiny"], data)
    both = train_tokenizer((line for side in (SOURCE, TARGET) for line in _lines(data, side)), config.tokenizer)
    return Tokenizers(both, both)


def _lines(data: Path, language: str) -> list[str]:
    with gzip.open(data / f"train.{language}.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def _measure(axis: str, value: int, data: Path, work: Path, tokenizers: Tokenizers, seconds: float) -> Point:
    folder = work / f"{axis}-{value}"
    run = folder / "run"
    run.mkdir(parents=True)
    try:
        config = _config(axis, value, data, folder)
        tokenizers.save(run)
        prepared = PreparedCorpus.build(run / "prepared", config.data.train, config.data, tokenizers)
        (folder / "recipe.toml").write_text(format_config(config), encoding="utf-8")
        measurement, seen = follow_run(folder / "recipe.toml", run, folder, 0, seconds)
        size = tokenizers.target.vocabulary_size
        parameters = sum(parameter.numel() for parameter in build_model(config.model, size, size, 1).parameters())
        tokens = int(prepared.source.offsets[-1]) / len(prepared)
        speed, peak = measurement.tokens_per_second, measurement.peak_memory_mb
        return Point(
            axis, value, parameters, tokens, len(prepared), seen.start_seconds, speed, peak, seen.own_memory_mb
        )
    finally:
        shutil.rmtree(folder)


def _config(axis: str, value: int, data: Path, folder: Path) -> Config:
    """The recipe of `tiny`, with one size changed."""
    values = base_recipe(SHAPES["tiny"], data).model_dump(mode="json", exclude_none=True)
    model: dict[str, Any] = values["model"]
    if axis == "width":
        model.update(width=value, feed_forward=2 * value, heads=max(1, value // 32))
    elif axis == "depth":
        model.update(encoder_layers=value, decoder_layers=value)
    else:
        values["data"]["train"] = [_corpus(data, folder, **{"joined" if axis != "pairs" else "pairs": value})]
    return parse_config(values, where="a point of the benchmark")


def _corpus(data: Path, folder: Path, joined: int = 1, pairs: int | None = None) -> dict[str, str]:
    """Write a corpus of Multi30k's text: some neighbours joined into one sentence, or some number of pairs."""
    paths = {}
    for name, language in (("source", SOURCE), ("target", TARGET)):
        lines = _lines(data, language)
        if joined > 1:
            lines = [" ".join(lines[start : start + joined]) for start in range(0, len(lines) - joined + 1, joined)]
        paths[name] = folder / f"train.{language}"
        with open(paths[name], "w", encoding="utf-8") as file:
            for line in itertools.islice(itertools.cycle(lines), pairs or len(lines)):
                file.write(f"{line}\n")
    return {name: str(path) for name, path in paths.items()}


def _table(points: list[Point]) -> Table:
    table = Table(
        title="What training costs as the work grows (shape tiny but for one size)",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,  # 80 columns, where there is no terminal
    )
    for heading in ("", "parameters", "tokens/pair", "start", "tok/s", "peak MB", "own MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for axis, group in itertools.groupby(points, key=lambda point: point.axis):
        for point in group:
            table.add_row(
                f"{axis} {point.value:,}",
                f"{point.parameters:,}",
                f"{point.source_tokens_a_pair:.1f}",
                f"{point.start_seconds:.1f} s",
                f"{point.tokens_per_second:,.0f}",
                f"{point.peak_memory_mb:,.0f}",
                f"{point.own_memory_mb:,.0f}",
            )
        table.add_section()
    return table


def _plot(points: list[Point], path: Path) -> None:
    axes = dict.fromkeys(point.axis for point in points)
    panels = [
        Panel(LABELS[axis], {"": [(point.value, point.tokens_per_second) for point in points if point.axis == axis]})
        for axis in axes
    ]
    draw_panels(panels, path)


if __name__ == "__main__":
    sys.exit(main())
