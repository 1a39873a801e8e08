"""Runs are asked to stop in each phase of their work: they save, leave with the signal's code, and lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("needs signals and fork", allow_module_level=True)

from stops import PHASES, stop_runs

STUCK = """
import os, signal, threading
from tokenizers import Tokenizer, models, trainers
from regard.train import signals
signals.GRACE = 0.2
texts = [str(number) * 100 for number in range(100_000)]
with signals.stop_request() as stop, stop.at_once():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    Tokenizer(models.BPE()).train_from_iterator(texts, trainers.BpeTrainer(vocab_size=30_000, show_progress=False))
    print("came back")
"""


@pytest.mark.slow
def test_stopped_runs_end_as_one_left_alone(tmp_path: Path) -> None:
    """A part of what `stops.py` does."""
    report = stop_runs(tmp_path, count=1, seed=8)  # this seed stops runs between the last two checkpoints, too
    assert report.good, report.to_text()
    assert report.stops["SIGTERM"].keys() == PHASES.keys()


def test_compiled_code_that_does_not_come_back_is_not_waited_for() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr == "regard: stopped; nothing is lost, and the same command goes on\n"
