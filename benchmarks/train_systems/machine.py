"""The machine that is measured on: its name, its cores, and whether it is at rest."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from regard.hardware import available_cores, processor_name
from train_systems.peers import why_not

BUSY_SHARE = 0.3


def machine() -> dict[str, Any]:
    """Where and when the figures were taken."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": processor_name(),
        "cores": available_cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers") if why_not("marian") is None else None,
        "load_before": load,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def busy() -> float | None:
    """The load, where it is high enough to spoil a measurement."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return load if load > BUSY_SHARE * available_cores() else None
