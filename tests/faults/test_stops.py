"""Runs are asked to stop in each phase of their work: they save, leave with the signal's code, and lose nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

if os.name != "posix":
    pytest.skip("needs signals and fork", allow_module_level=True)

from scene import Scene, server
from stops import PHASES, stop_runs

from regard.train import processes
from regard.train.loop import Trainer

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

STUCK_FOR_LONG = """
import hashlib, os, signal, threading
from regard.train import signals
signals.GRACE = 600
def ask_twice():
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
with signals.stop_request() as stop, stop.{phase}():
    threading.Timer(0.5, ask_twice).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""


@dataclass(frozen=True)
class WorkerStandsStill:
    """Stop the process that does not lead when a step begins, so that the leader waits for it inside the engine."""

    worker: Any
    """Shared with the test: which process that is, once it stands."""

    def install(self) -> None:
        step = Trainer._step

        def stopping(trainer: Trainer, *arguments: Any) -> int:
            if trainer.session.standing.step == 3:
                worker = processes._start.__self__.pid  # type: ignore[attr-defined]
                os.kill(worker, signal.SIGSTOP)
                self.worker.value = worker
            return step(trainer, *arguments)

        Trainer._step = stopping  # type: ignore[method-assign]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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


@pytest.mark.parametrize("phase", ["at_once", "later"])
def test_a_second_signal_does_not_wait_for_compiled_code(phase: str) -> None:
    script = STUCK_FOR_LONG.format(phase=phase)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode in (130, 143)  # of two signals that wait, the system hands over the lower number first
    assert done.stdout == done.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for a process in /proc")
def test_a_second_signal_leaves_where_a_worker_stands_still(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    run, worker = scene.new_run(), server().RawValue("i", 0)
    attempt = scene.start(run, 2, [WorkerStandsStill(worker)])
    assert attempt.running_until(lambda: worker.value)
    for _ in range(2):
        time.sleep(1.0)
        assert attempt.process.exitcode is None
        os.kill(attempt.process.pid, signal.SIGINT)
    end = attempt.wait()
    assert (end.code, end.clean) == (130, True)
    assert not is_alive(worker.value)
    assert scene.start(run, 2).wait().code == 0
    assert scene.differences(run, 2) == []
