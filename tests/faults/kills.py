"""Runs are killed (SIGKILL) inside checkpoint saves and at random moments, resumed, and compared with one left alone.

    .venv/bin/python tests/faults/kills.py --count 200

Prints how many kills there were, where they hit, and how many of them left an unreadable folder or other weights at
the end. `--seed` chooses the kills; when a random moment comes is a matter of the machine. Leaves with 1 on a failure.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from command import Options, command
from deaths import SAVE_STEPS, DeathInSave
from scene import EVERY, STEPS, Attempt, End, Scene, TaughtScene, TunedScene, leftovers, problems

from regard.progress import Task, task

INSIDE_A_SAVE = 0.45
"""The share of kills aimed at a step of a save; the others come at random moments."""
TWO_PROCESSES = 0.4
TUNED = 0.15
"""The share of kills in runs that begin with another model; each hits the first save of its process that it can."""
TAUGHT = 0.1
"""The share of kills in runs that ask a teacher first, and keep what it says."""
KILLS_A_RUN = 3
SIGKILL_CODE, ERROR_CODE = -9, 2


@dataclass(frozen=True)
class Kill:
    """One kill: at a step of a save, or when a share of the time that a whole run takes has gone by."""

    processes: int
    step: str | None
    share: float
    number: int
    of_worker: bool
    scene: str = "plain"

    def sooner(self) -> Kill:
        """For when the run had ended before."""
        return replace(self, share=0.8 * self.share, number=max(1, self.number - 1))

    def hooks(self) -> list[DeathInSave]:
        return [DeathInSave(self.step, self.number, self.share)] if self.step else []


@dataclass
class KillReport:
    """What kills did; each belongs to a run, and its end is that of its run."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    by_processes: Counter[int] = field(default_factory=Counter)
    of_workers: int = 0
    by_scene: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    unreadable: int = 0
    identical: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.kills.total()

    @property
    def inside(self) -> int:
        return sum(count for where, count in self.kills.items() if where in SAVE_STEPS or "in a save" in where)

    @property
    def good(self) -> bool:
        return not self.failures and not self.unreadable and self.identical == self.count

    def to_text(self) -> str:
        steps = ", ".join(f"{step} {self.kills[step]}" for step in SAVE_STEPS)
        others = ", ".join(f"{where} {count}" for where, count in sorted(self.kills.items()) if where not in SAVE_STEPS)
        shared = ", ".join(f"{count} of {processes}" for processes, count in sorted(self.by_processes.items()))
        return "\n".join(
            [
                f"kills               {self.count} in {self.runs} runs, seed {self.seed}",
                f"  inside a save     {self.inside}: {steps}",
                f"  at random moments {others}",
                f"  by processes      {shared}; {self.of_workers} hit the process that does not lead",
                f"  with model.start  {self.by_scene['tuned']}, by Muon, with consistency",
                f"  with a teacher    {self.by_scene['taught']}, asked once",
                f"unreadable folders  {self.unreadable}",
                f"identical ends      {self.identical} of {self.count}",
                *(f"FAILED: {failure}" for failure in self.failures),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "count": self.count, "inside_a_save": self.inside, "good": self.good}


def plan(count: int, chance: random.Random) -> list[deque[Kill]]:
    """The kills for runs of one process, of two, of one that begins with another model and of one with a teacher."""
    two, tuned, taught = (round(count * share) for share in (TWO_PROCESSES, TUNED, TAUGHT))
    turns = cycle(SAVE_STEPS)
    return [
        _plan(count - two - tuned - taught, 1, turns, chance),
        _plan(two, 2, turns, chance),
        deque(Kill(1, step, chance.random(), 1, False, "tuned") for step in islice(turns, tuned)),
        _plan(taught, 1, turns, chance, "taught"),
    ]


def _plan(count: int, processes: int, turns: Iterator[str], chance: random.Random, scene: str = "plain") -> deque[Kill]:
    inside = round(count * INSIDE_A_SAVE)
    steps: list[str | None] = [*islice(turns, inside), *[None] * (count - inside)]
    chance.shuffle(steps)
    saves = STEPS // EVERY
    return deque(
        Kill(
            processes,
            step,
            chance.random(),
            chance.randint(1, saves // 2),
            processes > 1 and chance.random() < 0.5,
            scene,
        )
        for step in steps
    )


class Killer:
    """Kills, resumes and compares."""

    def __init__(self, scene: Scene, report: KillReport, work: Task) -> None:
        self.scene, self.report, self.work = scene, report, work

    def run(self, kills: deque[Kill]) -> None:
        """One run from its beginning to its end, with the next kills; those that came too late stay in the queue."""
        folder, hit, failures = self.scene.new_run(), 0, len(self.report.failures)
        self.report.runs += 1
        processes = kills[0].processes
        while kills and hit < KILLS_A_RUN:
            if not self._kill(folder, kills[0]):
                kills[0] = kills[0].sooner()
                break
            kills.popleft()
            hit += 1
            self.work.advance(1, self._status())
        self._finish(folder, processes)
        if len(self.report.failures) == failures:
            self.report.identical += hit

    def _kill(self, run: Path, kill: Kill) -> bool:
        """Let the run go on until it is killed; False if it came to its end before."""
        attempt = self.scene.start(run, kill.processes, kill.hooks())
        of_worker = False
        if kill.step is None:
            of_worker = self._at_random(attempt, run, kill)
        end = attempt.wait()
        if end.code == 0:
            return False
        where = self._where(run, kill)
        if end.code != (ERROR_CODE if of_worker else SIGKILL_CODE) or not end.clean:
            self._fail(f"{where}: the process ended with {end.code}", end)
        self.report.kills[where] += 1
        self.report.by_processes[kill.processes] += 1
        self.report.of_workers += of_worker
        self.report.by_scene[kill.scene] += 1
        if found := problems(run):
            self.report.unreadable += 1
            self._fail(f"{where}: {'; '.join(found)}", end)
        return True

    def _at_random(self, attempt: Attempt, run: Path, kill: Kill) -> bool:
        """Kill one of the processes at a moment of the time that is left; True if it was the one that does not lead."""
        steps_done = max((int(path.name[5:13]) for path in run.glob("checkpoints/step-*")), default=0)
        seconds = self.scene.left_alone(kill.processes)[1].seconds
        if not attempt.running_after(kill.share * seconds * (1 - 0.8 * steps_done / STEPS)):
            return False
        if kill.of_worker and attempt.kill(worker=True):
            return True
        attempt.kill()
        return False

    def _where(self, run: Path, kill: Kill) -> str:
        if kill.step is not None:
            return kill.step
        cut_off = leftovers(run)
        if any(path.parent.name == "checkpoints" for path in cut_off):
            return "in a save"
        return "in another write" if cut_off else "elsewhere"

    def _finish(self, run: Path, processes: int) -> None:
        end = self.scene.start(run, processes).wait()
        found = self.scene.differences(run, processes)
        if end.code or not end.clean or found:
            self._fail(f"the end: code {end.code} {'; '.join(found)}", end)

    def _fail(self, failure: str, end: End) -> None:
        self.report.failures.append(failure)
        self.work.note(f"{failure}\n{end.said}")

    def _status(self) -> str:
        return f"{self.report.inside} inside a save, {len(self.report.failures)} failures"


def kill_runs(folder: Path, count: int, seed: int) -> KillReport:
    report, plain = KillReport(seed), Scene(folder)
    with task("kills", count) as work:
        model = plain.left_alone()[0]
        scenes = {
            "plain": plain,
            "tuned": TunedScene(folder / "tuned", model),
            "taught": TaughtScene(folder / "taught", model),
        }
        for queue in plan(count, random.Random(seed)):
            while queue:
                Killer(scenes[queue[0].scene], report, work).run(queue)
    return report


def _run(folder: Path, options: Options) -> KillReport:
    return kill_runs(folder, options.count, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    return command(__doc__, 200, _run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
