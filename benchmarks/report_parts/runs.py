"""Finished runs of one recipe, one a seed, and the commands that made them."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import Config
from regard.errors import RegardError
from regard.models.folder import CONFIG, WEIGHTS
from regard.recipe import load_config
from regard.run_folder import FINISHED
from regard.train.log import LOG, read_log

TEACHER_RECIPE = "train.teacher_recipe"
"""Matters before a run alone: whoever made its teachers, it is the same run."""
MAY_DIFFER = ("seed", "train.threads", "train.processes", TEACHER_RECIPE)
"""Keys in which runs of one recipe may differ: chance, what changes the speed alone, what comes before."""
ROUNDED = 0.001
"""Seconds that a log may be off."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that came to its end: its folder, its settings, and the figures that it left."""

    folder: Path
    config: Config
    figures: Mapping[str, Any]
    weights: str
    """The sha256 of its weights."""

    @property
    def seed(self) -> int:
        return self.config.seed

    @property
    def minutes(self) -> float:
        """Of training, over all sessions: a run that goes on counts on from its checkpoint."""
        return float(self.figures["seconds"]) / 60

    @property
    def processes(self) -> int | None:
        """How many shared each batch; None where a run of an older version left that to the machine."""
        return self.figures.get("processes") or self.config.train.processes or None

    def to_json(self) -> dict[str, Any]:
        facts = ("parameters", "pairs", "steps", "epochs", "target_tokens", "chosen", "validation")
        return {
            "run": shown(self.folder),
            "seed": self.seed,
            "weights_sha256": self.weights,
            **{name: self.figures.get(name) for name in facts},
            "minutes": self.minutes,
            "processes": self.processes,
        }


def read_runs(folders: Sequence[Path]) -> list[FinishedRun]:
    """Runs of one recipe and of different seeds; what is not finished, or is of another recipe, is refused."""
    runs = [read_run(folder) for folder in folders]
    for number, run in enumerate(runs):
        if (key := first_difference(runs[0], run)) is not None:
            raise RegardError(
                f"{run.folder}: has another `{key}` than {runs[0].folder}; a report is on runs of one recipe, "
                "which differ in their seeds"
            )
        twin = next((other for other in runs[:number] if other.seed == run.seed), None)
        if twin is not None:
            raise RegardError(f"{run.folder}: has the seed of {twin.folder}, {run.seed}; each run needs its own")
    return runs


def read_run(folder: Path) -> FinishedRun:
    """One run, which must be finished."""
    if not folder.is_dir():
        raise RegardError(f"{folder}: no such run; `regard train` makes it")
    for name in (CONFIG, LOG, WEIGHTS, FINISHED):
        if not (folder / name).exists():
            raise RegardError(
                f"{folder}: is not finished, for it has no {name}; the command that began it goes on, and writes that "
                "at the end (a run that is at its end already needs no more than that command once again)"
            )
    try:
        figures = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
        missing = {"run", "parameters", "steps", "seconds", "chosen"} - figures.keys()
    except (OSError, ValueError, AttributeError):
        missing = {"figures"}
    if missing:
        raise RegardError(f"{folder / FINISHED}: has no {min(missing)}; `regard train` writes it")
    last = read_log(folder / LOG)[-1:]
    if not last or last[0]["step"] > figures["steps"] or last[0]["seconds"] > figures["seconds"] + ROUNDED:
        raise RegardError(f"{folder / LOG}: is not the log of the run whose figures are in {FINISHED}; train it again")
    return FinishedRun(folder, load_config(folder / CONFIG), figures, digest(folder / WEIGHTS))


def digest(path: Path) -> str:
    """The sha256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RegardError(f"{path}: cannot be read ({error.strerror}); is {path.parent} a model folder?") from None


def first_difference(one: FinishedRun, other: FinishedRun) -> str | None:
    """The first key in which two runs differ, of those in which they must not."""
    ours, theirs = _keys(one.config, one.figures["run"]), _keys(other.config, other.figures["run"])
    return next((key for key in ours if ours[key] != theirs[key] and key not in MAY_DIFFER), None)


def train_command(run: FinishedRun, recipe: Path) -> str:
    """The command that makes a run of a recipe, with the keys in which the run differs from it."""
    given, used = _keys(load_config(recipe)), _keys(run.config)
    changed = {key: value for key, value in used.items() if value not in (given[key], None) and key != TEACHER_RECIPE}
    foreign = next((key for key in changed if key.startswith("data.")), None)
    if foreign is not None or any(used[key] is None and given[key] is not None for key in used):
        raise RegardError(f"{run.folder}: is no run of {recipe}, for it has another `{foreign or 'value'}`")
    overrides = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in changed.items()]
    return f"regard train {shown(recipe)} --run {shown(run.folder)} {shlex.join(overrides)}".rstrip()


def _keys(config: Config, own_folder: str = "") -> dict[str, Any]:
    """Every key of a configuration with its value; the run's own folder, where a student's text lies, is left out."""
    text = json.dumps(config.model_dump(mode="json"))
    values = json.loads(text.replace(f"{json.dumps(own_folder)[1:-1]}/", "") if own_folder else text)
    keys: dict[str, Any] = {"seed": values.pop("seed")}
    for section, fields in values.items():
        keys |= {f"{section}.{name}": value for name, value in fields.items()}
    return keys


def shown(path: Path) -> str:
    """A path as a reader of the page would write it: from here, where it lies below."""
    inside = Path(os.path.relpath(path))
    return str(path) if inside.parts[:1] == ("..",) else str(inside)
