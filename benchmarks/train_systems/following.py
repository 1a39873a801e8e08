"""Running a system's own training command: its log is followed, its processes are watched, then it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from train_systems.measuring import process_memory_mb, process_peak_mb

LAST_LINES = 15
GRACE_SECONDS = 20.0
SAMPLE_SECONDS = 0.5


class CommandError(RuntimeError):
    """The command ended before it had trained for long enough; the message holds its last lines."""


class Command:
    """A training command that runs, with the lines it prints and the memory of all its processes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.peak_memory_mb = 0.0
        self._tail: deque[str] = deque(maxlen=LAST_LINES)
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def lines(self) -> Iterator[str]:
        """What it prints, as it comes; CommandError when it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._tail.append(line)
            yield line
        self._fail()

    def polls(self, seconds: float) -> Iterator[None]:
        """Once every so often, while it runs; for a command whose log is a file. CommandError when it ends."""
        threading.Thread(target=lambda: deque(self.lines_until_end(), maxlen=0), daemon=True).start()
        while self.process.poll() is None:
            yield
            time.sleep(seconds)
        self._fail()

    def lines_until_end(self) -> Iterator[str]:
        """What it prints, to be thrown away: a full pipe would stop it."""
        try:
            yield from self.lines()
        except CommandError:
            return

    def _fail(self) -> None:
        code = self.process.wait()
        raise CommandError(f"ended with code {code} before it was measured:\n{''.join(self._tail).rstrip()}")

    def _watch(self) -> None:
        """Keep the highest sum of memory peaks over the processes that live at one time."""
        while not self._over.is_set():
            self.sample_memory()
            self._over.wait(SAMPLE_SECONDS)

    def sample_memory(self) -> float:
        """Look at the memory now; give the peak so far."""
        peaks = (process_peak_mb(member) or 0.0 for member in family(self.process.pid))
        self.peak_memory_mb = max(self.peak_memory_mb, sum(peaks))
        return self.peak_memory_mb

    def own_memory_mb(self) -> float:
        """The memory that its processes hold now, without the pages of files."""
        return sum(process_memory_mb(member, "RssAnon") or 0.0 for member in family(self.process.pid))

    def stop(self) -> None:
        """Ask it to leave, and end what is still there after a while."""
        self._over.set()
        members = family(self.process.pid)
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._end_orphans(members - {self.process.pid})

    def _end_orphans(self, members: set[int]) -> None:
        """Kill what the command has left behind, and see it gone: it would disturb the next measurement."""
        patience = time.monotonic() + GRACE_SECONDS
        while alive := [member for member in members if process_peak_mb(member) is not None]:
            for member in alive:
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            if time.monotonic() > patience:
                raise RuntimeError(f"processes that cannot be ended: {alive}")
            time.sleep(0.02)


@contextmanager
def running(command: Sequence[object], folder: Path, threads: int) -> Iterator[Command]:
    """Start a command in a folder, and stop it at the end."""
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=folder,
        env=environment(threads),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    followed = Command(process)
    # The one who started this script may stop it; the command must not live on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        yield followed
    finally:
        followed.stop()


def environment(threads: int) -> dict[str, str]:
    """This process's environment, with so many threads for a mathematics library; 0: its own choice."""
    kept = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    chosen = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)} if threads else {}
    return {**kept, **chosen, "PYTHONUNBUFFERED": "1"}


def family(process: int) -> set[int]:
    """A process, its children, and theirs, as far as /proc tells."""
    found: set[int] = set()
    waiting = [process]
    while waiting:
        member = waiting.pop()
        found.add(member)
        for children in Path("/proc").glob(f"{member}/task/*/children"):
            try:
                waiting += [int(child) for child in children.read_text().split()]
            except OSError:  # it has just ended
                continue
    return found


def follow(command: Command, parse: Callable[[str], bool]) -> None:
    """Hand every line to `parse` until it says that it has seen enough."""
    for line in command.lines():
        if parse(line):
            return
