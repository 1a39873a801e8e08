"""How soon Adam and Muon bring a recipe to a given quality: steps and seconds, on several seeds.

    regard data multi30k
    python benchmarks/time_to_quality.py --bleu 30 35 --loss 2.0 --json time_to_quality.json

Every run is an ordinary `regard train` in a folder of its own below `--runs`. A finished run is not done again, and
one that was interrupted goes on; so the same command goes on with whatever is left.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from training_runs import train_once

from regard.errors import RegardError
from regard.figures import publish
from regard.train.log import LOG, read_log

OPTIMISERS = ("adam", "muon")
KINDS = ("bleu", "loss")
FIGURES = ("step", "seconds")


@dataclass(frozen=True)
class Goal:
    """A quality to reach: a BLEU of at least, or a loss of at most, `value`."""

    kind: str
    value: float

    def __str__(self) -> str:
        return f"BLEU {self.value:g}" if self.kind == "bleu" else f"loss {self.value:g}"

    def is_met(self, validation: dict[str, Any]) -> bool:
        found = validation.get(self.kind)
        return found is not None and (found >= self.value if self.kind == "bleu" else found <= self.value)


@dataclass(frozen=True)
class Reached:
    """The first validation of a run that met a goal."""

    step: int
    seconds: float


@dataclass(frozen=True)
class Run:
    """The validations of one finished run."""

    optimiser: str
    seed: int
    validations: list[dict[str, Any]]

    @classmethod
    def read(cls, folder: Path, optimiser: str, seed: int) -> Run:
        lines = read_log(folder / LOG)
        return cls(optimiser, seed, [line for line in lines if line["kind"] == "validation"])

    def reached(self, goal: Goal) -> Reached | None:
        for validation in self.validations:
            if goal.is_met(validation):
                return Reached(int(validation["step"]), validation["seconds"])
        return None

    def best(self, kind: str) -> float | None:
        found = [validation[kind] for validation in self.validations if validation.get(kind) is not None]
        return (max if kind == "bleu" else min)(found, default=None)


@dataclass(frozen=True)
class Comparison:
    """What all runs came to."""

    recipe: str
    overrides: dict[str, list[str]]
    goals: list[Goal]
    runs: list[Run]

    def of(self, optimiser: str) -> list[Run]:
        return [run for run in self.runs if run.optimiser == optimiser]

    def mean(self, goal: Goal, optimiser: str, figure: str) -> float | None:
        """The mean over the seeds, if all of them came that far."""
        found = [run.reached(goal) for run in self.of(optimiser)]
        return None if None in found else mean(getattr(reached, figure) for reached in found)

    def ratio(self, goal: Goal, figure: str) -> float | None:
        """Adam's mean over Muon's: above 1, Muon is sooner there."""
        adam, muon = (self.mean(goal, optimiser, figure) for optimiser in OPTIMISERS)
        return adam / muon if adam and muon else None

    def to_json(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "overrides": self.overrides,
            "goals": [self._goal_to_json(goal) for goal in self.goals],
            "best": {
                name: {run.seed: {kind: run.best(kind) for kind in KINDS} for run in self.of(name)}
                for name in OPTIMISERS
            },
        }

    def _goal_to_json(self, goal: Goal) -> dict[str, Any]:
        seeds = {name: {run.seed: run.reached(goal) for run in self.of(name)} for name in OPTIMISERS}
        means = {name: {figure: self.mean(goal, name, figure) for figure in FIGURES} for name in OPTIMISERS}
        return {
            goal.kind: goal.value,
            **{name: {"seeds": seeds[name], "mean": means[name]} for name in OPTIMISERS},
            "ratio": {figure: self.ratio(goal, figure) for figure in FIGURES},
        }

    def to_text(self) -> str:
        seeds = [f"seed {run.seed}" for run in self.of(OPTIMISERS[0])]
        lines = [_row("first reached", [*seeds, "mean"])]
        for goal in self.goals:
            for name in OPTIMISERS:
                steps, seconds = (self.mean(goal, name, figure) for figure in FIGURES)
                both = None if steps is None or seconds is None else Reached(round(steps), seconds)
                reached = [run.reached(goal) for run in self.of(name)]
                lines.append(_row(f"{goal}, {name}", map(_cell, [*reached, both])))
            ratios = [self.ratio(goal, figure) for figure in FIGURES]
            if None not in ratios:
                lines.append(f"  adam's mean / muon's: {ratios[0]:.2f} in steps, {ratios[1]:.2f} in seconds")
        lines += ["", _row("best of the run", seeds)]
        for kind in KINDS:
            for name in OPTIMISERS:
                best = [run.best(kind) for run in self.of(name)]
                lines.append(_row(f"{kind}, {name}", ["-" if value is None else f"{value:.3f}" for value in best]))
        return "\n".join(lines)


def _row(head: str, cells: Iterable[str]) -> str:
    return f"{head:<18}" + "".join(f"{cell:>20}" for cell in cells)


def _cell(reached: Reached | None) -> str:
    return "not reached" if reached is None else f"{reached.step:,} in {reached.seconds:,.0f} s"


def compare(arguments: argparse.Namespace) -> Comparison:
    overrides = {"adam": list(arguments.set), "muon": [*arguments.set, *arguments.muon]}
    runs = []
    for seed in arguments.seeds:
        for name in OPTIMISERS:
            own = [f"train.optimiser={name}", f"seed={seed}"]
            own += [f"train.max_steps={arguments.steps}"] if arguments.steps else []
            folder = arguments.runs / f"{name}-{seed}"
            train_once(arguments.recipe, folder, [*overrides[name], *own])
            runs.append(Run.read(folder, name, seed))
    goals = [Goal("bleu", value) for value in arguments.bleu] + [Goal("loss", value) for value in arguments.loss]
    return Comparison(arguments.recipe, overrides, goals, runs)


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="recipes/multi30k-en-de-tiny.toml")
    parser.add_argument("--runs", type=Path, default=Path("runs/time-to-quality"), help="folder of the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="train.max_steps of every run")
    parser.add_argument("--bleu", type=float, nargs="+", default=[], help="validation BLEU to reach")
    parser.add_argument("--loss", type=float, nargs="+", default=[], help="validation loss to reach")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="for every run")
    parser.add_argument("--muon", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="for Muon's runs")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    arguments = parser.parse_args(given)
    if not arguments.bleu and not arguments.loss:
        parser.error("say what is to be reached: --bleu 30 35, --loss 2.0, or both")
    return arguments


def main() -> None:
    arguments = parse()
    try:
        publish(compare(arguments), arguments.json)
    except RegardError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
