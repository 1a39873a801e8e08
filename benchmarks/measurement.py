"""What commands that measure have in common: a machine at rest, a folder to work in, and errors of one line."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from train_systems.machine import busy

from regard import progress
from regard.errors import RegardError
from regard.figures import check_destination
from regard.hardware import available_cores


def run_measurement(name: str, json: str | None, measure: Callable[[Path], None]) -> int:
    """Measure, with a folder to work in that is gone afterwards; gives the exit code of the command."""
    progress.show()
    try:
        check_destination(json)
        if load := busy():
            progress.note(
                f"this machine is busy (load {load:.1f} on {available_cores()} cores): do not trust its figures"
            )
        with tempfile.TemporaryDirectory(prefix=f"{name}.") as work:
            measure(Path(work))
    except RegardError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
