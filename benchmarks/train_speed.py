"""How fast regard trains, beside others on the same machine: the same shape, data, vocabulary and batches.

    .venv/bin/python benchmarks/train_speed.py --json out.json

Every measurement is a process of its own; the systems take turns. benchmarks/README.md says what exactly is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from train_systems.following import environment
from train_systems.machine import busy, machine
from train_systems.measuring import Measurement
from train_systems.peers import ON_REQUEST, SYSTEMS, why_not
from train_systems.results import ShapeResult, SystemResult
from train_systems.settings import BATCH_TOKENS, SHAPES, SOURCE, TARGET, Shape

from regard import progress
from regard.errors import RegardError
from regard.figures import check_destination, write_figures
from regard.hardware import available_cores

FOLDER = Path(__file__).parent
SHORTEST_CALIBRATION = 5.0
LONGEST_START = 600.0
"""Seconds that a system may take to begin, and for a last step that began inside the window."""


class MeasurementError(RuntimeError):
    """A system ended without a result; the message holds its last lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    progress.show()
    try:
        check_destination(options.json)
        data = corpus_folder(options.data)
        if load := busy():
            progress.note(
                f"this machine is busy (load {load:.1f} on {available_cores()} cores): do not trust its figures"
            )
        with tempfile.TemporaryDirectory(prefix="train_speed.") as work:
            _prepare(data, Path(work))
            results = Comparison(options, Path(work)).run()
    except (RegardError, MeasurementError) as error:
        print(f"train_speed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all("regard" not in result.unavailable for result in results.values()) else 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES), help="default: all of them")
    usual = [name for name in SYSTEMS if name not in ON_REQUEST]
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=usual, help=f"default: all but {', '.join(ON_REQUEST)}"
    )
    parser.add_argument("--rounds", type=_positive(int), default=3, metavar="N", help="measurements of each system")
    parser.add_argument("--seconds", type=_positive(float), default=20.0, metavar="S", help="length of a measurement")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="for every system, instead of what each likes best; 0: its own choice"
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="holds multi30k/tok; default: REGARD_DATA, or data")
    parser.add_argument("--json", metavar="FILE", help="write all figures there (`-`: to standard output)")
    options = parser.parse_args(arguments)
    if options.threads is not None and options.threads < 0:
        parser.error("--threads: a number of threads, or 0 for each system's own choice")
    return options


def _positive(kind: type) -> Any:
    def convert(text: str) -> Any:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    convert.__name__ = kind.__name__  # argparse names it where a text is no number at all
    return convert


def corpus_folder(given: Path | None) -> Path:
    """Where Multi30k's tokenized text lies."""
    home = given or Path(os.environ.get("REGARD_DATA") or FOLDER.parent / "data")
    folder = home / "multi30k" / "tok"
    for language in (SOURCE, TARGET):
        if not (folder / f"train.{language}.gz").is_file():
            raise RegardError(
                f"{folder}/train.{language}.gz: no such file; `regard data multi30k` brings it into data/, "
                "or name its folder with --data"
            )
    return folder


class Comparison:
    """All shapes and systems that were asked for, one measurement after the other."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.results = {name: ShapeResult() for name in options.shape}
        self.unavailable = {name: reason for name in options.systems if (reason := why_not(name)) is not None}
        self.systems = [name for name in options.systems if name not in self.unavailable]
        self.machine = machine()

    def run(self) -> dict[str, ShapeResult]:
        for name, reason in self.unavailable.items():
            progress.note(f"{name}: {reason}; going on without it")
        console = Console(stderr=self.options.json == "-")
        with progress.task("measuring", self._total()) as self.work_done:
            for name, result in self.results.items():
                result.unavailable |= self.unavailable
                self._measure_shape(SHAPES[name], result)
                console.print(result.table(title(SHAPES[name])))
                if self.options.json and self.options.json != "-":  # what is there is kept if the rest fails
                    write_figures(self.options.json, self.to_json())
        if self.options.json == "-":
            write_figures("-", self.to_json())
        return self.results

    def to_json(self) -> dict[str, Any]:
        measured = {name: result.to_json() for name, result in self.results.items() if not result.empty}
        return {**measured, "machine": self.machine}

    def _total(self) -> int:
        tries = 0 if self.options.threads is not None else sum(len(thread_choices(name)) for name in self.systems)
        rounds: int = self.options.rounds
        return len(self.results) * (tries + rounds * len(self.systems))

    def _measure_shape(self, shape: Shape, result: ShapeResult) -> None:
        for name in self.systems:
            if name != "gemm":
                result.systems[name] = self._calibrate(name, shape, result)
        for number in range(self.options.rounds):
            # Another one begins each time, so that a machine that slows down does so for all.
            place = number % max(len(self.systems), 1)
            for name in self.systems[place:] + self.systems[:place]:
                self._measure(name, shape, result)

    def _calibrate(self, name: str, shape: Shape, result: ShapeResult) -> SystemResult:
        """Find the number of threads with which a system is fastest."""
        if self.options.threads is not None:
            return SystemResult(self.options.threads)
        seconds = max(SHORTEST_CALIBRATION, self.options.seconds / 4)
        speeds: dict[int, float] = {}
        for threads in thread_choices(name):
            found = self._try(name, shape, threads, seconds, result)
            if found is not None:
                speeds[threads] = Measurement(**found).tokens_per_second
        return SystemResult(max(speeds, key=speeds.__getitem__, default=0), speeds)

    def _measure(self, name: str, shape: Shape, result: ShapeResult) -> None:
        if name == "gemm":
            found = self._try(name, shape, available_cores(), self.options.seconds / 2, result)
            if found is not None:
                result.gflops.append(found["gflops"])
                result.flops_per_target_token = found["flops_per_target_token"]
            return
        found = self._try(name, shape, result.systems[name].threads, self.options.seconds, result)
        if found is not None:
            result.systems[name].rounds.append(Measurement(**found))

    def _try(self, name: str, shape: Shape, threads: int, seconds: float, result: ShapeResult) -> dict[str, Any] | None:
        """Measure once; a system that fails is left out from then on, with a word why."""
        found = None
        if name not in result.unavailable:
            try:
                found = measure_in_child(name, shape, threads, seconds, self.work)
            except MeasurementError as failure:
                result.unavailable[name] = str(failure)
                progress.note(f"{name}: {failure}")
        self.work_done.advance(1, f"{shape.name}, {name}")
        return found


def measure_in_child(name: str, shape: Shape, threads: int, seconds: float, work: Path) -> dict[str, Any]:
    """Run a system's script in a process of its own; give the result that it prints last."""
    task = ["--shape", shape.name, "--work", str(work), "--threads", str(threads), "--seconds", str(seconds)]
    output = _child([SYSTEMS[name], *task], threads, LONGEST_START + 3 * seconds)
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def _prepare(data: Path, work: Path) -> None:
    with progress.task("preparing the vocabulary and the batches"):
        _child(["train_systems.prepare", "--data", str(data.resolve()), "--work", str(work)], 0, LONGEST_START)


def _child(module_and_arguments: list[str], threads: int, timeout: float) -> str:
    """Run a module of this folder in a process of its own; give its standard output."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module_and_arguments],
        cwd=FOLDER,
        env=environment(threads),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()  # it stops what it has started
        process.communicate()
        raise MeasurementError(f"not done after {timeout:.0f} seconds") from None
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.returncode != 0 or not output.strip():
        raise MeasurementError("failed:\n" + "\n".join(errors.strip().splitlines()[-8:]))
    return output


def thread_choices(system: str) -> list[int]:
    """The numbers of threads that are tried for a system; gemm has all cores, and no choice."""
    if system == "gemm":
        return []
    choices = sorted({1, available_cores()})
    return [0, *choices] if system.startswith("regard") else choices


def title(shape: Shape) -> str:
    layers = f"{shape.encoder_layers}+{shape.decoder_layers} layers"
    sizes = f"{shape.width}/{shape.feed_forward}, {shape.heads} heads"
    return f"{shape.name} ({layers}, {sizes}), Multi30k {SOURCE}-{TARGET}, batches of {BATCH_TOKENS:,} tokens"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing that was started may live on
    sys.exit(main())
