"""Two processes under torchrun: they learn as one does, and where one of them is killed they go on to the same end.

    .venv/bin/python tests/faults/ranks.py --count 10

Compares the losses of 50 steps of `torchrun --nproc-per-node 2 -m regard train` with those of one process that takes
both batches of each step. Then kills (SIGKILL) rank 0 and rank 1 in turn, `--count` times, each in a run of its own
and after a step that `--seed` chooses; torchrun starts both again (`--max-restarts`), and the end is compared with
that of the run left alone. Leaves with 1 on a failure. Finds the processes in /proc.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command import Options, command
from scene import Scene, differences

from regard.progress import Task, task
from regard.train.log import LOG, read_log

STEPS, EVERY = 50, 10
SETTINGS = (f"train.max_steps={STEPS}", f"train.validate_every={EVERY}")
KILLED_AFTER = range(EVERY + 1, STEPS - EVERY)
"""Steps after which there is a checkpoint, and still enough to do."""
ALLOWED = 1e-4
"""The most by which the loss of a step may differ: gradients are added up in another order."""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
PATIENCE = 240.0


@dataclass(frozen=True)
class Trained:
    """A run that came to its end: what it said on the way, and the loss of each step."""

    said: str
    losses: list[float]


def train_command(recipe: Path, run: Path, processes: int, *overrides: str) -> list[str]:
    start = [*TORCHRUN, "--max-restarts", "2", "-m", "--"] if processes > 1 else ["-m"]
    return [sys.executable, *start, "regard", "train", str(recipe), "--run", str(run), *overrides]


def train(
    recipe: Path, run: Path, processes: int, *overrides: str, meanwhile: Callable[[int], object] | None = None
) -> Trained:
    """Train to the end, under torchrun where there are two; `meanwhile` is called with the process that was started."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = train_command(recipe, run, processes, *overrides)
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            if meanwhile is not None:
                meanwhile(process.pid)
            said = process.communicate(timeout=PATIENCE)[1].decode()
        finally:
            process.terminate()  # nothing, where it has ended
    if process.returncode:
        raise RuntimeError(f"it ended with {process.returncode}\n{said}")
    return Trained(said, [line["loss"] for line in read_log(run / LOG) if line["kind"] == "train"])


def wait_for_step(run: Path, step: int) -> None:
    """Wait until the run has logged a step."""
    deadline = time.monotonic() + PATIENCE
    while not (run / LOG).exists() or f'"step": {step},' not in (run / LOG).read_text():
        if time.monotonic() > deadline:
            raise RuntimeError(f"it did not come to step {step}")
        time.sleep(0.01)


def workers_of(starter: int) -> list[int]:
    """The processes that a process has started."""
    return [int(number) for number in Path(f"/proc/{starter}/task/{starter}/children").read_text().split()]


def rank_of(process: int) -> int:
    """The number that torchrun gave a process."""
    environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next(int(entry[5:]) for entry in environment if entry.startswith(b"RANK="))


def kill_after(run: Path, step: int, rank: int) -> Callable[[int], None]:
    """Kill the process of that rank, which torchrun has started, once the run has logged a step."""

    def kill(starter: int) -> None:
        wait_for_step(run, step)
        try:
            os.kill(next(worker for worker in workers_of(starter) if rank_of(worker) == rank), signal.SIGKILL)
        except (StopIteration, OSError):
            raise RuntimeError("it had ended before it was killed") from None

    return kill


@dataclass
class RankReport:
    """How two processes compare with one, and what kills did."""

    seed: int
    difference: float = float("nan")
    kills: Counter[int] = field(default_factory=Counter)
    """By rank."""
    resumed: int = 0
    identical: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.kills.total()

    @property
    def good(self) -> bool:
        whole = self.resumed == self.identical == self.count
        return not self.failures and whole and self.difference <= ALLOWED

    def to_text(self) -> str:
        by_rank = ", ".join(f"{count} of rank {rank}" for rank, count in sorted(self.kills.items()))
        return "\n".join(
            [
                f"losses          differ by {self.difference:.1e} at most over {STEPS} steps, of {ALLOWED:g} allowed: "
                "one process, two under torchrun",
                f"kills           {self.count}, seed {self.seed}: {by_rank}",
                f"resumed         {self.resumed} of {self.count}, by torchrun, from a checkpoint",
                f"identical ends  {self.identical} of {self.count}",
                *(f"FAILED: {failure}" for failure in self.failures),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "count": self.count, "good": self.good}


class RankKiller:
    """Compares two processes with one; then kills one of them, and compares the end."""

    def __init__(self, scene: Scene, report: RankReport, work: Task) -> None:
        self.scene, self.report, self.work = scene, report, work
        self.alone = scene.new_run()

    def compare(self) -> None:
        """The losses of two processes, and of one that takes both batches of a step."""
        two = train(self.scene.recipe(), self.alone, 2, *SETTINGS, "train.accumulate=1").losses
        one = train(self.scene.recipe(), self.scene.new_run(), 1, *SETTINGS, "train.accumulate=2").losses
        if len(one) != STEPS or len(two) != STEPS:
            self.report.failures.append(f"{len(one)} and {len(two)} losses were logged, not {STEPS}")
        self.report.difference = max(abs(a - b) for a, b in zip(one, two, strict=False))

    def kill(self, rank: int, step: int) -> None:
        run = self.scene.new_run()
        kill = kill_after(run, step, rank)
        self.report.kills[rank] += 1
        try:
            said = train(self.scene.recipe(), run, 2, *SETTINGS, "train.accumulate=1", meanwhile=kill).said
            found = differences(run, self.alone)
        except RuntimeError as error:
            said, found = "", [str(error)]
        self.report.resumed += "going on from step" in said
        self.report.identical += not found
        self.report.failures += [f"rank {rank} killed after step {step}: {failure}" for failure in found]
        self.work.advance(1, f"{len(self.report.failures)} failures")


def kill_ranks(folder: Path, count: int, seed: int) -> RankReport:
    chance, report, scene = random.Random(seed), RankReport(seed), Scene(folder)
    with task("ranks killed", count) as work:
        killer = RankKiller(scene, report, work)
        killer.compare()
        for number in range(count):
            killer.kill(number % 2, chance.choice(KILLED_AFTER))
    return report


def _run(folder: Path, options: Options) -> RankReport:
    return kill_ranks(folder, options.count, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    return command(__doc__, 10, _run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
