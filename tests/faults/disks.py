"""Runs on a disk of 20 MB that fills up, and on one that may not be written: a clear error, and nothing is lost.

    .venv/bin/python tests/faults/disks.py --count 20

Needs the right to mount a disk. A file takes so much of the disk that its room ends at some moment of the run; the
run must stop with an error in words and the exit code 2, leave a folder that can be read, and go on when the file is
gone, to the same end as one left alone. Leaves with 1 on a failure, and with 2 where no disk can be mounted.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command import Options, command
from scene import End, Scene, problems

from regard.progress import Task, task

MEGABYTES = 20
PAGE = 4096
USER_ERROR = 2


class CannotMount(Exception):  # noqa: N818 - a reason, not a fault
    """This system lets us mount no disk."""


class SmallDisk:
    """A disk in memory, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def leave_free(self, pages: int) -> None:
        """Take all of the disk but so many pages."""
        self.make_room()
        with open(self._ballast, "wb") as file:
            for _ in range(MEGABYTES * 1024 * 1024 // PAGE - pages):
                file.write(bytes(PAGE))

    def make_room(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def allow_writing(self, allowed: bool) -> None:
        _mount("-o", f"remount,{'rw' if allowed else 'ro'}", str(self.folder))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CannotMount("there is no command `mount` here") from None
    if done.returncode:
        raise CannotMount(done.stderr.strip())


@dataclass
class DiskReport:
    """What full and read-only disks did."""

    seed: int
    full: Counter[str] = field(default_factory=Counter)
    """By what could not be written."""
    read_only: int = 0
    identical: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.full.total() + self.read_only

    @property
    def good(self) -> bool:
        return not self.failures and self.identical == self.count

    def to_text(self) -> str:
        unwritten = ", ".join(f"{name} {count}" for name, count in sorted(self.full.items()))
        return "\n".join(
            [
                f"disks of {MEGABYTES} MB   {self.count}, seed {self.seed}",
                f"  full           {self.full.total()}; could not be written: {unwritten}",
                f"  read-only      {self.read_only}",
                f"identical ends   {self.identical} of {self.count}",
                *(f"FAILED: {failure}" for failure in self.failures),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "count": self.count, "good": self.good}


class Filler:
    """Fills disks up, makes room, and compares."""

    def __init__(self, scene: Scene, disk: SmallDisk, report: DiskReport, work: Task) -> None:
        self.scene, self.disk, self.report, self.work = scene, disk, report, work
        self.pages = sum(-(-path.stat().st_size // PAGE) for path in scene.left_alone()[0].rglob("*"))
        self._runs = 0

    def fill(self, share: float) -> None:
        """A run with room for a share of what it needs."""
        run = self._new_run()
        self.disk.leave_free(int(share * self.pages))
        end = self.scene.start(run).wait()
        unwritten = re.search(r"error: .*/([^/:]+): cannot be written \(No space left on device\)", end.said)
        self._check(run, end, unwritten is not None)
        self.report.full[_kind(unwritten[1]) if unwritten else "unknown"] += 1
        self.disk.make_room()
        self._go_on(run)

    def forbid(self) -> None:
        """A run that stopped for want of room, and then finds its disk read-only."""
        run = self._new_run()
        self.disk.leave_free(self.pages // 2)
        self.scene.start(run).wait()
        self.disk.make_room()
        self.disk.allow_writing(False)
        end = self.scene.start(run).wait()
        self._check(run, end, "the disk is read-only" in end.said)
        self.report.read_only += 1
        self.disk.allow_writing(True)
        self._go_on(run)

    def _new_run(self) -> Path:
        self._runs += 1
        return self.disk.folder / f"run-{self._runs}"

    def _check(self, run: Path, end: End, clear: bool) -> None:
        found = problems(run)
        if end.code != USER_ERROR or not end.clean or not clear or found:
            self._fail(f"it ended with {end.code} {'; '.join(found)}", end)

    def _go_on(self, run: Path) -> None:
        end = self.scene.start(run).wait()
        if end.code or (found := self.scene.differences(run)):
            self._fail(f"the end: code {end.code} {'; '.join(found)}", end)
        else:
            self.report.identical += 1
        subprocess.run(["rm", "-r", str(run)], check=True)
        self.work.advance(1, f"{len(self.report.failures)} failures")

    def _fail(self, failure: str, end: End) -> None:
        self.report.failures.append(failure)
        self.work.note(f"{failure}\n{end.said}")


def _kind(name: str) -> str:
    return re.sub(r"step-\d+(\.\d+)?", "a checkpoint", name)


def fill_disks(folder: Path, count: int, seed: int) -> DiskReport:
    """So many full disks, and a quarter as many read-only ones."""
    chance, report, scene = random.Random(seed), DiskReport(seed), Scene(folder)
    read_only = -(-count // 4)
    with small_disk(folder / "disk") as disk, task("disks", count + read_only) as work:
        filler = Filler(scene, disk, report, work)
        for number in range(count):
            filler.fill((number + chance.random()) / count)
        for _ in range(read_only):
            filler.forbid()
    return report


def _run(folder: Path, options: Options) -> DiskReport:
    return fill_disks(folder, options.count, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return command(__doc__, 20, _run, arguments)
    except CannotMount as reason:
        print(f"no disk can be mounted here: {reason}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
