"""Runs that a comparison needs: each trained once, by the command of regard's users, in a folder of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from regard.errors import RegardError
from regard.models.folder import CONFIG
from regard.recipe import load_config
from regard.run_folder import FINISHED


def train_once(recipe: str, folder: Path, overrides: Sequence[str]) -> None:
    """Train a run to its end, unless it is there already; what is there must be the same run."""
    if (folder / CONFIG).exists() and load_config(folder / CONFIG) != load_config(recipe, overrides):
        raise RegardError(f"{folder}: holds a run with other settings; choose another folder with --runs")
    if (folder / FINISHED).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{folder}: {' '.join(overrides)}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "regard", "train", recipe, "--run", str(folder), *overrides]
    if code := follow([*command, "--json", str(folder / FINISHED)]):
        raise RegardError(f"{folder}: training left with exit code {code}; the same command goes on from there")


def follow(command: Sequence[str]) -> int:
    """Run a command and give its exit code; a SIGTERM goes on to it, so that it can save and leave."""
    process = subprocess.Popen(command, stdout=sys.stderr)
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
