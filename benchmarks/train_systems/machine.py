"""The machine that is measured on: its name, its cores, and whether it is at rest."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from train_systems.peers import why_not

BUSY_SHARE = 0.3


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """Where and when the figures were taken."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers") if why_not("marian") is None else None,
        "load_before": load,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def busy() -> float | None:
    """The load, where it is high enough to spoil a measurement."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return load if load > BUSY_SHARE * cores() else None
