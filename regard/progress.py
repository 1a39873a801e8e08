"""Progress of long work on standard error: a live bar on a terminal, plain lines elsewhere, silence by default."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_LINE_SECONDS = 10.0


class Task(Protocol):
    """One piece of long work."""

    def advance(self, amount: int = 1, status: str = "") -> None:
        """Say that `amount` more is done; `status` is a word on how it goes, such as `loss 2.31`."""
        ...

    def note(self, line: str) -> None:
        """Print a line of its own above the bar."""
        ...


class _Silent:
    def advance(self, amount: int = 1, status: str = "") -> None: ...

    def note(self, line: str) -> None: ...


class _Bar:
    def __init__(self, progress: Progress, description: str, total: int | None, done: int) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=total, completed=done, status="")

    def advance(self, amount: int = 1, status: str = "") -> None:
        fields = {"status": status} if status else {}
        self._progress.update(self._task, advance=amount, **fields)  # type: ignore[arg-type]

    def note(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, markup=False)


class _Lines:
    """Plain lines, one every ten seconds, for logs and pipes."""

    def __init__(self, description: str, total: int | None, done: int) -> None:
        self._description, self._total = description, total
        self._done = self._before = done
        self._started = self._printed = time.monotonic()

    def advance(self, amount: int = 1, status: str = "") -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._printed >= PLAIN_LINE_SECONDS:
            self._printed = now
            self.note(self._line(now - self._started, status))

    def _line(self, elapsed: float, status: str) -> str:
        parts = [f"{self._description}: {self._done:,}"]
        if self._total:
            left = elapsed * (self._total - self._done) / max(self._done - self._before, 1)
            parts = [f"{parts[0]} of {self._total:,} ({self._done / self._total:.0%}), {duration(left)} left"]
        return ", ".join(parts + ([status] if status else []))

    def note(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


_shown = False


def show(shown: bool = True) -> None:
    """Let progress be seen, or not; the command line calls this, a program that imports regard may."""
    global _shown
    _shown = shown


@contextmanager
def task(description: str, total: int | None = None, done: int = 0) -> Iterator[Task]:
    """Run a piece of long work: `with task("translating", len(lines)) as work: work.advance()`.

    `done` was done before: the time that the rest takes is reckoned from what is done now.
    """
    if not _shown:
        yield _Silent()
    elif not sys.stderr.isatty():
        yield _Lines(description, total, done)
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}", style="dim"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield _Bar(progress, description, total, done)


def note(line: str) -> None:
    """A line on standard error, where progress is shown."""
    if _shown:
        print(line, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time for people: `8 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
