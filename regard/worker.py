"""A further process of a run: `python -m regard.worker RUN RANK SIZE PORT LEADER`; the process LEADER starts it."""

from __future__ import annotations

import sys
from pathlib import Path

from regard import console


def _work(arguments: list[str]) -> None:
    from regard.models.folder import CONFIG
    from regard.pipeline import take_part
    from regard.recipe import load_config
    from regard.train.signals import Interrupted

    run, (rank, size, port, leader) = Path(arguments[0]), map(int, arguments[1:])
    try:
        take_part(load_config(run / CONFIG), run, rank, size, port, leader)
    except Interrupted:
        return  # the leader was asked to stop, and says so for all


if __name__ == "__main__":
    console.run(_work, sys.argv[1:])
