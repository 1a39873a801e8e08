"""Measuring one system in a process of its own: the window of time, the peak of memory, the result it prints."""

from __future__ import annotations

import argparse
import json
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from train_systems.settings import SHAPES, Shape

UNCOUNTED_STEPS = 5
"""Steps before the window opens: the first ones fill caches and ask the system for memory."""


@dataclass(frozen=True)
class Task:
    """What a system is asked to do."""

    shape: Shape
    work: Path
    """The folder that prepare.py has filled."""
    threads: int
    """0: as many as the system takes of itself."""
    seconds: float


@dataclass(frozen=True)
class Measurement:
    """What was seen inside the window; the memory from the start of the process to the end of the window."""

    tokens: float
    """Real target tokens, end marks included, padding not."""
    seconds: float
    steps: int
    peak_memory_mb: float
    parameters: int | None = None

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


class Window:
    """Opens at the end of the last uncounted step, closes with the first step that ends `seconds` later or more."""

    def __init__(self, seconds: float, uncounted: int = UNCOUNTED_STEPS) -> None:
        self._length, self._uncounted = seconds, uncounted
        self._opened: tuple[int, float, float] | None = None
        self._last: tuple[int, float, float] | None = None

    def add(self, step: int, tokens: float, time: float) -> bool:
        """Note that `step` steps and `tokens` tokens were done at `time`; True if the window is closed now."""
        if self._opened is None:
            if step >= self._uncounted:
                self._opened = (step, tokens, time)
            return False
        self._last = (step, tokens, time)
        return time - self._opened[2] >= self._length

    def measurement(self, peak_memory_mb: float, parameters: int | None = None) -> Measurement:
        if self._opened is None or self._last is None:
            raise RuntimeError("no step was finished inside the window")
        steps, tokens, seconds = (end - start for start, end in zip(self._opened, self._last, strict=True))
        return Measurement(tokens, seconds, int(steps), peak_memory_mb, parameters)


def read_task(description: str | None) -> Task:
    """The task that this process was started for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--work", type=Path, required=True, help="the folder that prepare.py has filled")
    parser.add_argument("--threads", type=int, default=0, help="0: what the system takes of itself")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    return Task(SHAPES[given.shape], given.work.resolve(), given.threads, given.seconds)


def read_facts(work: Path) -> dict[str, int]:
    """What prepare.py has counted."""
    facts: dict[str, int] = json.loads((work / "facts.json").read_text())
    return facts


def report(result: Measurement | dict[str, float]) -> None:
    """Print the result as the last line of standard output, where train_speed.py looks for it."""
    print(json.dumps(asdict(result) if isinstance(result, Measurement) else result), flush=True)


def own_peak_memory_mb() -> float:
    """The most memory that this process had resident.

    Linux's ru_maxrss also counts the program that started this one, so its own high-water mark is taken there.
    """
    peak = process_peak_mb("self")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def process_peak_mb(process: int | str) -> float | None:
    """The high-water mark of a process's resident memory; None where /proc does not tell, or it is gone."""
    return process_memory_mb(process, "VmHWM")


def process_memory_mb(process: int | str, kind: str) -> float | None:
    """One of the kinds of memory of which /proc keeps count."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    lines = (line.split() for line in status.splitlines())
    return next((int(line[1]) / 1024 for line in lines if line and line[0] == f"{kind}:"), None)
