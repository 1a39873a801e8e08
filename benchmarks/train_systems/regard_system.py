"""regard itself, by the command that its users type: `regard train`, read from the log that it writes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from regard.train.probe import MEMORY
from train_systems.following import running
from train_systems.measuring import Measurement, Task, Window, read_facts, read_task, report

POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Seen:
    """What only a look from outside tells."""

    start_seconds: float
    """From the command to the end of its first step."""
    own_memory_mb: float
    """At the end, without the pages of files."""


def measure(task: Task, precision: str = "fp32") -> Measurement:
    """Train in a new run that finds its vocabulary and its prepared corpus in place."""
    with tempfile.TemporaryDirectory(dir=task.work) as folder:
        recipe = task.work / f"{task.shape.name}.toml"
        start = task.work / "run"
        measurement, _ = follow_run(recipe, start, Path(folder), task.threads, task.seconds, precision)
        return replace(measurement, parameters=read_facts(task.work)[f"{task.shape.name}_parameters"])


def follow_run(
    recipe: Path, start: Path, folder: Path, threads: int, seconds: float, precision: str = "fp32"
) -> tuple[Measurement, Seen]:
    """Train in `folder`, from a run that was begun at `start`, until the window is full."""
    run = folder / "measured"
    shutil.copytree(start, run, copy_function=os.link)  # regard replaces files and changes none
    (run / MEMORY).write_text(json.dumps({precision: precision}))  # as if it had been the faster one in a trial
    settings = [f"train.threads={threads}", f"train.precision={precision}"]
    command = [sys.executable, "-m", "regard", "train", recipe, "--run", run, *settings]
    begun = time.monotonic()
    first_step = None
    with running(command, folder, threads) as training:
        window = Window(seconds)
        reader = LogReader(run / "log.jsonl")
        for _ in training.polls(POLL_SECONDS):
            full = reader.read_into(window)
            if first_step is None and reader.lines:
                first_step = time.monotonic()
            if full:
                break
        seen = Seen((first_step or begun) - begun, training.own_memory_mb())
        return window.measurement(training.sample_memory()), seen


class LogReader:
    """Reads a log that grows; regard writes its own clock into it, so it does not matter when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self.lines = 0

    def read_into(self, window: Window) -> bool:
        """Take the lines that are new; True when the window is full."""
        if not self._path.exists():
            return False
        with open(self._path, "rb") as file:
            file.seek(self._read)
            whole, _, _ = file.read().rpartition(b"\n")
        self._read += len(whole) + bool(whole)
        lines = [json.loads(line) for line in whole.splitlines()]
        self.lines += len(lines)
        return any(
            window.add(line["step"], line["tokens"], line["seconds"]) for line in lines if line["kind"] == "train"
        )


def main() -> None:
    report(measure(read_task(__doc__)))


if __name__ == "__main__":
    main()
