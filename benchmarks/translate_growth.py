"""What a translation costs as the work grows: against the beam, and against the sentences handed over at once.

    .venv/bin/python benchmarks/translate_growth.py runs/mine --json growth.json --plot docs/images/translate_growth.png

The sentences are those of Multi30k's test set. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from growth_plot import Panel, draw_panels
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from train_speed import corpus_folder
from train_systems.machine import machine

import regard
from regard import progress
from regard.errors import RegardError
from regard.figures import check_destination, write_figures
from regard.search.translator import Translator

AXES: dict[str, tuple[int, ...]] = {
    "beam": (1, 2, 5, 10, 20),
    "at once": (1, 4, 16, 64, 256),
}
LABELS = {"beam": "beam", "at once": "sentences at once"}
BEAM = 5
SENTENCES = 512
ROUNDS = 3


@dataclass(frozen=True)
class Point:
    """The best of some rounds; all but one size are: a beam of 5, all sentences at once."""

    axis: str
    value: int
    compute: str
    source_tokens_a_sentence: float
    target_tokens_per_second: float
    milliseconds_a_sentence: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--compute", nargs="+", default=["float32", "int8"])
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="holds multi30k/tok; default: REGARD_DATA, or data")
    parser.add_argument("--json", metavar="FILE", help="write all figures there (`-`: to standard output)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there")
    options = parser.parse_args(arguments)
    progress.show()
    try:
        check_destination(options.json)
        with gzip.open(corpus_folder(options.data) / "test_2016_flickr.en.gz", "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
        points = measure(regard.load(options.model), lines, options.compute)
    except RegardError as error:
        print(f"translate_growth: {error}", file=sys.stderr)
        return 1
    Console(stderr=options.json == "-").print(table(points))
    if options.json:
        write_figures(options.json, {"points": [asdict(point) for point in points], "machine": machine()})
    if options.plot:
        plot(points, options.plot)
    return 0


def measure(translator: Translator, lines: list[str], computes: Sequence[str]) -> list[Point]:
    settings = [(axis, value, compute) for compute in computes for axis in AXES for value in AXES[axis]]
    points = []
    with progress.task("measuring", len(settings)) as work:
        for axis, value, compute in settings:
            points.append(_point(translator, lines, axis, value, compute))
            work.advance(1, f"{axis} {value}, {compute}")
    return points


def _point(translator: Translator, lines: list[str], axis: str, value: int, compute: str) -> Point:
    beam = value if axis == "beam" else BEAM
    at_once = value if axis == "at once" else SENTENCES
    texts = lines[: max(64, at_once)]
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        found = []
        for start in range(0, len(texts), at_once):
            given = texts[start : start + at_once]
            found += translator.translate_nbest(given, 1, beam=beam, compute=compute)  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - begin)
    sources = sum(len(row) + 1 for row in translator.tokenizers.source.encode_batch(texts))
    tokens = sum(len(one[0].tokens) + one[0].finished for one in found)
    least = min(seconds)
    return Point(axis, value, compute, sources / len(texts), tokens / least, 1000 * least / len(texts))


def table(points: list[Point]) -> Table:
    made = Table(title="What a translation costs as the work grows", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("", "compute", "source tokens", "target tok/s", "ms a sentence"):
        made.add_column(heading, justify="right", no_wrap=True)
    for _, group in itertools.groupby(points, key=lambda point: (point.compute, point.axis)):
        for point in group:
            made.add_row(
                f"{LABELS[point.axis]}: {point.value}",
                point.compute,
                f"{point.source_tokens_a_sentence:.1f}",
                f"{point.target_tokens_per_second:,.0f}",
                f"{point.milliseconds_a_sentence:.2f}",
            )
        made.add_section()
    return made


def plot(points: list[Point], path: Path) -> None:
    computes = dict.fromkeys(point.compute for point in points)
    draw_panels([Panel(LABELS[axis], {name: _line(points, axis, name) for name in computes}) for axis in AXES], path)


def _line(points: list[Point], axis: str, compute: str) -> list[tuple[int, float]]:
    own = [point for point in points if (point.axis, point.compute) == (axis, compute)]
    return [(point.value, point.target_tokens_per_second) for point in own]


if __name__ == "__main__":
    sys.exit(main())
