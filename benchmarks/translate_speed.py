"""How fast regard translates, beside CTranslate2 and transformers: the same trained weights, sentences and beam.

    regard data multi30k
    regard train recipes/multi30k-en-de-tiny.toml --run runs/multi30k-en-de-tiny
    regard train recipes/multi30k-en-de-small.toml --run runs/m30k-small
    .venv/bin/python benchmarks/translate_speed.py --json out.json

Every measurement is a process of its own; the systems take turns. benchmarks/README.md says what exactly is measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measurement import run_measurement
from rich.console import Console
from train_systems.following import environment
from train_systems.machine import machine
from translate_systems.results import Discipline, Rounds
from translate_systems.systems import SINGLE_TRANSFORMERS, SYSTEMS, TRANSFORMERS_SENTENCES, Setting

from regard import progress
from regard.data.tokenizer import Tokenizers
from regard.errors import RegardError
from regard.evaluate.metrics import bleu
from regard.figures import write_figures
from regard.hardware import available_cores
from regard.portability.export import export_model

FOLDER = Path(__file__).parent
MODELS = {"tiny": "runs/multi30k-en-de-tiny", "small": "runs/m30k-small"}
LONGEST = 1800.0
WIDTH = 110
"""Columns of a table that goes to a file."""
CALIBRATION_SHARE = 5
"""A try before the rounds has this part of the sentences."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    return run_measurement("translate_speed", options.json, lambda work: Comparison(options, work).run())


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", nargs="+", metavar="NAME=FOLDER", default=[f"{name}={folder}" for name, folder in MODELS.items()],
        help="models that regard trained; default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="default: all of them")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--modes", nargs="+", choices=("batch", "single"), default=["batch", "single"])
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measurements of each system")
    parser.add_argument("--sentences", type=int, default=5000, metavar="N", help="in batches; the test set repeated")
    parser.add_argument("--single-sentences", type=int, default=200, metavar="N", help="one at a time")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="holds multi30k/tok; default: REGARD_DATA, or data")
    parser.add_argument("--json", metavar="FILE", help="write all figures there (`-`: to standard output)")
    return parser.parse_args(arguments)


def _read(path: Path) -> list[str]:
    if not path.is_file():
        raise RegardError(f"{path}: no such file; `regard data multi30k` brings it into data/, or use --data")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return lines.read().splitlines()


class Comparison:
    """All disciplines of all models, one measurement after the other."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        home = options.data or Path(os.environ.get("REGARD_DATA") or FOLDER.parent / "data")
        self.sources = _read(home / "multi30k/tok/test_2016_flickr.en.gz")
        self.references = _read(home / "multi30k/tok/test_2016_flickr.de.gz")
        self.texts = work / "texts"
        self.texts.write_text("".join(f"{line}\n" for line in self.sources), encoding="utf-8")
        self.figures: dict[str, Any] = {"machine": machine()}

    def run(self) -> None:
        console = Console(stderr=self.options.json == "-", width=None if sys.stdout.isatty() else WIDTH)
        for given in self.options.models:
            name, _, folder = given.partition("=")
            self._export(name, Path(folder))
            self.tokenizers = Tokenizers.load(Path(folder))
            for single in [mode == "single" for mode in self.options.modes]:
                for beam in self.options.beams:
                    discipline = Discipline(name, beam, single)
                    self._measure(discipline)
                    console.print(discipline.table())
                    self.figures.setdefault(name, {})[discipline.name] = discipline.to_json()
                    if self.options.json and self.options.json != "-":  # what is there is kept if the rest fails
                        write_figures(self.options.json, self.figures)
        if self.options.json == "-":
            write_figures("-", self.figures)

    def _export(self, name: str, folder: Path) -> None:
        """Every form of a model that is needed, each with its parity checked by the export itself."""
        (self.work / name).mkdir()
        (self.work / name / "regard").symlink_to(folder.resolve())
        for form in {SYSTEMS[system].form for system in self.options.systems} - {"regard"}:
            export: Any = form.partition("-")[0]
            quantization: Any = form.partition("-")[2] or "float32"
            export_model(folder, export, self.work / name / form, quantization=quantization)

    def _measure(self, discipline: Discipline) -> None:
        tries = {name: SYSTEMS[name].settings(available_cores(), discipline.single) for name in self.options.systems}
        total = sum(len(settings) for settings in tries.values() if len(settings) > 1)
        total += self.options.rounds * len(tries)
        with progress.task(f"{discipline.model}, {discipline.name}", total) as work:
            for name, settings in tries.items():
                speeds: dict[Setting, float] = {}
                for setting in settings if len(settings) > 1 else []:
                    count = -(-self._count(name, discipline.single) // CALIBRATION_SHARE)
                    found = self._child(name, discipline, setting, count)
                    speeds[setting] = found["sentences"] / found["seconds"]
                    work.advance(1, f"{SYSTEMS[name].title}, {setting.to_text()}")
                chosen = max(speeds, key=speeds.__getitem__, default=settings[0])
                calibration = {setting.to_text(): speed for setting, speed in speeds.items()}
                discipline.systems[name] = Rounds(chosen, calibration)
            names = list(tries)
            for number in range(self.options.rounds):
                place = number % len(names)
                for name in names[place:] + names[:place]:
                    self._round(name, discipline)
                    work.advance(1, SYSTEMS[name].title)

    def _count(self, name: str, single: bool) -> int:
        if name == "transformers":
            most = SINGLE_TRANSFORMERS if single else TRANSFORMERS_SENTENCES
            return min(most, self.options.single_sentences if single else self.options.sentences)
        return int(self.options.single_sentences if single else self.options.sentences)

    def _round(self, name: str, discipline: Discipline) -> None:
        rounds = discipline.systems[name]
        found = self._child(name, discipline, rounds.setting, self._count(name, discipline.single))
        outputs = (self.work / "output").read_text(encoding="utf-8").splitlines()
        tokens = sum(len(row) + 1 for row in self.tokenizers.target.encode_batch(outputs))
        rounds.sentences_per_second.append(found["sentences"] / found["seconds"])
        rounds.tokens_per_second.append(tokens / found["seconds"])
        rounds.peak_memory_mb.append(found["peak_memory_mb"])
        if len(outputs) >= len(self.references):
            rounds.bleu = bleu(outputs[: len(self.references)], self.references, tokenize="none").value

    def _child(self, name: str, discipline: Discipline, setting: Setting, sentences: int) -> dict[str, Any]:
        command = [
            sys.executable, "-m", "translate_systems.worker", name, "--model", str(self.work / discipline.model),
            "--texts", str(self.texts), "--output", str(self.work / "output"), "--sentences", str(sentences),
            "--beam", str(discipline.beam), "--threads", str(setting.threads), "--inside", str(setting.inside),
            "--batch", str(setting.batch), *(["--single"] if discipline.single else []),
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=FOLDER, env=environment(setting.threads), capture_output=True, text=True, timeout=LONGEST
        )
        if done.returncode:
            raise RegardError(f"{name} failed:\n" + "\n".join(done.stderr.strip().splitlines()[-8:]))
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result


if __name__ == "__main__":
    sys.exit(main())
