"""What the machine has to offer: cores, memory within the limits of its containers, disk, and how busy it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.hardware import available_cores, control_groups


@dataclass(frozen=True)
class Machine:
    """What a run may use."""

    cores: int
    memory: int | None
    """Bytes that can be taken without swapping; None where the system does not tell."""
    disk: int
    """Bytes free where the run is kept."""
    load: float
    """Processes that wanted to run in the last minute."""

    @property
    def busy(self) -> bool:
        """Whether other work takes so much that a measurement is too pessimistic."""
        return self.load > self.cores / 2

    @property
    def crowding(self) -> float:
        """How many times as fast a run may be at best when it is left alone."""
        return max(1.0, self.load / self.cores)


def look_at_machine(run: Path) -> Machine:
    """The machine as it is now, for a run that is kept in the folder `run`."""
    place = next(folder for folder in (run.absolute(), *run.absolute().parents) if folder.is_dir())
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return Machine(available_cores(), available_memory(), shutil.disk_usage(place).free, load)


def available_memory(root: Path = Path("/")) -> int | None:
    """The least of what the machine has left and what each limit on this process (cgroup) leaves."""
    try:
        machine = _figures(root / "proc/meminfo")["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError):
        return None
    return min([machine, *_left_by_limits(root)])


def _left_by_limits(root: Path) -> Iterator[int]:
    for folder in control_groups("memory", root):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            try:
                allowed, used = (int((folder / name).read_text()) for name in (limit, usage))
            except (OSError, ValueError):  # there is no such file, or it says "max"
                continue
            yield max(0, allowed - used + _reclaimable(folder))


def _reclaimable(folder: Path) -> int:
    """Pages of files that a group counts as used, and that go when they are in the way."""
    try:
        return _figures(folder / "memory.stat").get("inactive_file", 0)
    except (OSError, ValueError):
        return 0


def _figures(path: Path) -> dict[str, int]:
    """The numbers in a file of lines such as `MemAvailable:   123 kB`."""
    words = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}


def own_memory() -> tuple[int, int]:
    """Bytes that this process held at its peak, and those of them that are files, which processes share; or zeros."""
    try:
        figures = _figures(Path("/proc/self/status"))
        return figures["VmHWM"] * 1024, figures["RssFile"] * 1024
    except (OSError, KeyError, ValueError):
        return 0, 0
