"""The machine that a program runs on, as far as a report tells of it."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path


def available_cores(root: Path = Path("/")) -> int:
    """The cores that this process may use: those it was given, or the time of so many that its container may take."""
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([given, *(math.ceil(share) for share in _shares_of_time(root))]))


def _shares_of_time(root: Path) -> Iterator[float]:
    """How many cores' time each limit on this process allows, of either version of control groups."""
    for folder in control_groups("cpu", root):
        try:
            quota, period = (folder / "cpu.max").read_text().split()
        except (OSError, ValueError):
            try:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            except OSError:
                continue
        try:
            if int(quota) > 0 and int(period) > 0:
                yield int(quota) / int(period)
        except ValueError:  # "max": no limit
            continue


def control_groups(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """The control groups of this process that have a say in something, the outer ones too, of either version."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            home = root / "sys/fs/cgroup" / (controller if controllers else "")
            own = home / name.lstrip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(home))


def processor_name() -> str:
    """What the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
