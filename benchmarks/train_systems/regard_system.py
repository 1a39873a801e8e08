"""regard itself, by the command that its users type: `regard train`, read from the log that it writes."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from train_systems.following import running
from train_systems.measuring import Measurement, Task, Window, read_facts, read_task, report

POLL_SECONDS = 0.5


def measure(task: Task) -> Measurement:
    """Train in a new run that finds its vocabulary and its prepared corpus in place."""
    with tempfile.TemporaryDirectory(dir=task.work) as folder:
        run = Path(folder) / "run"
        shutil.copytree(task.work / "run", run)
        command = [sys.executable, "-m", "regard", "train", task.work / f"{task.shape.name}.toml", "--run", run]
        with running([*command, f"train.threads={task.threads}"], Path(folder), task.threads) as training:
            window = Window(task.seconds)
            reader = LogReader(run / "log.jsonl")
            for _ in training.polls(POLL_SECONDS):
                if reader.read_into(window):
                    break
            return window.measurement(training.sample_memory(), read_facts(task.work)[f"{task.shape.name}_parameters"])


class LogReader:
    """Reads a log that grows; regard writes its own clock into it, so it does not matter when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def read_into(self, window: Window) -> bool:
        """Take the lines that are new; True when the window is full."""
        if not self._path.exists():
            return False
        with open(self._path, "rb") as file:
            file.seek(self._read)
            whole, _, _ = file.read().rpartition(b"\n")
        self._read += len(whole) + bool(whole)
        lines = (json.loads(line) for line in whole.splitlines())
        return any(
            window.add(line["step"], line["tokens"], line["seconds"]) for line in lines if line["kind"] == "train"
        )


def main() -> None:
    report(measure(read_task(__doc__)))


if __name__ == "__main__":
    main()
