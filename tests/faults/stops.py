"""Runs are asked to stop (SIGTERM, Ctrl-C) in each phase of their work; they save, leave, and end as one left alone.

    .venv/bin/python tests/faults/stops.py --count 10

`--count` is that of SIGTERMs in each phase of a run of one process. A quarter as many come as Ctrl-C, as many to the
leader of two processes, and as many as two signals in a row, of which the second leaves at once. Leaves with 1 on a
failure.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command import Options, command
from scene import EVERY, STEPS, End, Scene, problems, server

from regard.progress import Task, task
from regard.train.checkpoint import CheckpointStore

LONGEST = 10.0
"""Seconds in which a run must have left."""

PHASES = {
    "vocabulary": ("regard.pipeline", "train_tokenizer"),
    "preparing": ("regard.data.prepared", "_Build.write"),
    "validating": ("regard.train.validation", "Validator.judge"),
    "saving": ("regard.train.checkpoint", "CheckpointStore.save"),
    "training": ("regard.train.loop", "Trainer._step"),
    "choosing": ("regard.train.loop", "Trainer._choose"),
    "finishing": ("regard.pipeline", "plot_curves"),
}
"""The phases in the order in which a run is stopped in them, and the function that runs in each."""

SAVES = {"validating": range(1, 3), "saving": range(1, 3), "training": range(3 * EVERY + 1, STEPS + 1)}
"""Phases in which there is something to save, and when the signal comes: the how-manieth time, or at which step."""


@dataclass(frozen=True)
class Stop:
    """One request to stop, made when `share` of a phase's calls are done, the `number`-th time the phase comes.

    A phase of training is a step of the run; others count from the beginning of the process.
    """

    phase: str
    number: int
    share: float
    signal: int = signal.SIGTERM
    times: int = 1
    processes: int = 1


@dataclass(frozen=True)
class SignalInPhase:
    """Sends the signals of a stop to the process that it is installed in; calls are counted, not seconds."""

    stop: Stop
    number: int
    calls: float
    sent: Any
    """Shared with the one who waits: when the signal was sent."""

    def install(self) -> None:
        times = 0

        @contextmanager
        def around() -> Iterator[None]:
            nonlocal times
            times += 1
            countdown = _Countdown(self.calls, self._send) if times == self.number else None
            yield
            if countdown is not None:
                countdown.fire()

        _surround(self.stop.phase, around)

    def _send(self) -> None:
        self.sent.value = time.monotonic()
        for _ in range(self.stop.times):
            os.kill(os.getpid(), self.stop.signal)


class _Countdown:
    """Does something after so many calls of functions, or when told to, once."""

    def __init__(self, calls: float, action: Callable[[], None]) -> None:
        self._left, self._action = calls, action
        sys.setprofile(self)

    def __call__(self, _frame: object, event: str, _argument: object) -> None:
        self._left -= event in ("call", "c_call")
        if self._left < 0:
            self.fire()

    def fire(self) -> None:
        sys.setprofile(None)
        action, self._action = self._action, lambda: None
        action()


@dataclass(frozen=True)
class CallCounter:
    """Counts the calls that each phase makes, the last time that it comes."""

    calls: Any

    def install(self) -> None:
        active: set[int] = set()

        def count(_frame: object, event: str, _argument: object) -> None:
            if event in ("call", "c_call"):
                for place in active:
                    self.calls[place] += 1

        def around(place: int) -> Callable[[], Any]:
            @contextmanager
            def counting() -> Iterator[None]:
                active.add(place)
                self.calls[place] = 0
                sys.setprofile(count)
                yield
                active.discard(place)
                sys.setprofile(count if active else None)

            return counting

        for place, phase in enumerate(PHASES):
            _surround(phase, around(place))


def _surround(phase: str, around: Callable[[], Any]) -> None:
    """Let a phase's function run inside `around()`."""
    module, name = PHASES[phase]
    owner: Any = importlib.import_module(module)
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    original = getattr(owner, name)

    def surrounded(*arguments: Any, **options: Any) -> Any:
        with around():
            return original(*arguments, **options)

    setattr(owner, name, surrounded)


@dataclass
class StopReport:
    """What stops did."""

    seed: int
    stops: dict[str, Counter[str]] = field(default_factory=dict)
    slowest: float = 0.0
    runs: int = 0
    identical: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(counter.total() for counter in self.stops.values())

    @property
    def good(self) -> bool:
        return not self.failures and self.identical == self.count

    def to_text(self) -> str:
        lines = [f"stops           {self.count} in {self.runs} runs, seed {self.seed}"]
        for kind, counter in self.stops.items():
            lines.append(f"  {kind:<13} {', '.join(f'{phase} {counter[phase]}' for phase in PHASES if counter[phase])}")
        lines.append(f"slowest         {self.slowest:.1f} s from the signal to the end, of {LONGEST:g} allowed")
        lines.append(f"identical ends  {self.identical} of {self.count}")
        return "\n".join(lines + [f"FAILED: {failure}" for failure in self.failures])

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "count": self.count, "good": self.good}


def plan(count: int, chance: random.Random) -> dict[str, list[list[Stop]]]:
    """The stops of each run, by kind: a run is stopped in one phase after the other."""

    def chain(phases: Sequence[str] = tuple(PHASES), **kind: Any) -> list[Stop]:
        return [Stop(phase, chance.choice(SAVES.get(phase, [1])), chance.random(), **kind) for phase in phases]

    some = range(math.ceil(count / 4))
    return {
        "SIGTERM": [chain() for _ in range(count)],
        "Ctrl-C": [chain(signal=signal.SIGINT) for _ in some],
        "two processes": [chain(processes=2) for _ in some],
        "twice in a row": [chain(("saving", "training"), times=2) for _ in some],
    }


class Stopper:
    """Stops, resumes and compares."""

    def __init__(self, scene: Scene, report: StopReport, work: Task) -> None:
        self.scene, self.report, self.work = scene, report, work
        calls = server().Array("q", len(PHASES))
        scene.start(scene.new_run(), 1, [CallCounter(calls)]).wait()
        self._calls = dict(zip(PHASES, calls, strict=True))

    def run(self, kind: str, stops: list[Stop]) -> None:
        """One run from its beginning to its end, stopped on the way."""
        run, before = self.scene.new_run(), len(self.report.failures)
        self.report.runs += 1
        for stop in stops:
            self._stop(run, stop, kind)
            self.report.stops.setdefault(kind, Counter())[stop.phase] += 1
            self.work.advance(1, f"{len(self.report.failures)} failures")
        end = self.scene.start(run, stops[0].processes).wait()
        found = self.scene.differences(run, stops[0].processes)
        if end.code or not end.clean or found:
            self._fail(f"{kind}, the end: code {end.code} {'; '.join(found)}", end)
        if len(self.report.failures) == before:
            self.report.identical += len(stops)

    def _stop(self, run: Path, stop: Stop, kind: str) -> None:
        sent = server().RawValue("d", 0.0)
        done = CheckpointStore(run / "checkpoints").latest_step() or 0
        number = stop.number - done if stop.phase == "training" else stop.number
        hook = SignalInPhase(stop, number, stop.share * self._calls[stop.phase], sent)
        end = self.scene.start(run, stop.processes, [hook]).wait()
        seconds = time.monotonic() - sent.value if sent.value else math.inf
        self.report.slowest = max(self.report.slowest, seconds)
        for wrong in _wrong(run, stop, end, seconds):
            self._fail(f"{kind} in {stop.phase}: {wrong}", end)

    def _fail(self, failure: str, end: End) -> None:
        self.report.failures.append(failure)
        self.work.note(f"{failure}\n{end.said}")


def _wrong(run: Path, stop: Stop, end: End, seconds: float) -> list[str]:
    """What is not as it should be after a stop."""
    found = problems(run)
    if end.code != 128 + stop.signal or not end.clean:
        found.append(f"it ended with {end.code}")
    if seconds > LONGEST:
        found.append(f"it took {seconds:.1f} s")
    saved = re.search(r"regard: stopped and saved at step ([\d,]+)", end.said)
    if stop.times == 1 and stop.phase in SAVES:
        newest = CheckpointStore(run / "checkpoints").latest_step()
        if saved is None or int(saved[1].replace(",", "")) != newest:
            found.append("it did not save")
    elif stop.times == 1 and "regard: stopped" not in end.said:
        found.append("it did not say that it stopped")
    return found


def stop_runs(folder: Path, count: int, seed: int) -> StopReport:
    report, scene = StopReport(seed), Scene(folder)
    kinds = plan(count, random.Random(seed))
    with task("stops", sum(len(stops) for chains in kinds.values() for stops in chains)) as work:
        stopper = Stopper(scene, report, work)
        for kind, chains in kinds.items():
            for stops in chains:
                stopper.run(kind, stops)
    return report


def _run(folder: Path, options: Options) -> StopReport:
    return stop_runs(folder, options.count, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    return command(__doc__, 10, _run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
