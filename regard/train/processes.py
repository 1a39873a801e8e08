"""Several processes on one machine that share each batch: on a CPU they overlap better than threads.

The process that was asked to train leads; it starts the others, which run `python -m regard.worker`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from regard.config import TrainConfig
from regard.errors import RegardError
from regard.train.team import Team, engine, torch_team

HOST = "127.0.0.1"
_PR_SET_PDEATHSIG = 1


SMALLEST_PART = 512
"""Tokens of a batch below which a process is not worth starting for them."""


def processes_for(config: TrainConfig, device: torch.device) -> int:
    """How many processes share each batch: what was asked for, or as many as there are cores, and work for them.

    Their number changes the speed of a run, and nothing else but the order in which gradients are added.
    """
    if config.processes:
        return config.processes
    if device.type != "cpu" or "WORLD_SIZE" in os.environ:
        return 1
    return max(1, min(config.threads or available_cores(), config.batch_tokens // SMALLEST_PART))


def available_cores() -> int:
    """The cores that this process may use, which a container may keep below those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def leading_team(size: int, run: Path, device: torch.device, shard: bool = False) -> Iterator[Team]:
    """Start the other processes of a run on this machine, and lead them."""
    store = TCPStore(HOST, 0, size, is_master=True, wait_for_workers=False)
    workers = [_start(run, rank, size, store.port) for rank in range(1, size)]
    try:
        with engine(device, size, store=store, rank=0):
            yield torch_team(0, size, device, shard, cut=True)
        for worker in workers:
            worker.wait(timeout=60)
    except RuntimeError as error:
        lost = [worker.pid for worker in workers if worker.poll() not in (None, 0)]
        if not lost:
            raise
        message = f"process {lost[0]} of this run has died: the same command goes on from the last checkpoint"
        raise RegardError(message) from error
    finally:
        for worker in workers:
            worker.kill()


def _start(run: Path, rank: int, size: int, port: int) -> subprocess.Popen[bytes]:
    """A worker in a session of its own, so that Ctrl-C reaches the leader alone, which tells it to stop."""
    arguments = [sys.executable, "-m", "regard.worker", str(run), str(rank), str(size), str(port)]
    return subprocess.Popen(arguments, start_new_session=True, stdin=subprocess.DEVNULL)


@contextmanager
def joined_team(rank: int, size: int, port: int, device: torch.device, shard: bool = False) -> Iterator[Team]:
    """Take part, as a worker, in the team that another process leads."""
    end_with_the_leader()
    store = TCPStore(HOST, port, size, is_master=False)
    with engine(device, size, store=store, rank=rank):
        yield torch_team(rank, size, device, shard, cut=True)


def end_with_the_leader() -> None:
    """Ask the system to end this process when its leader ends, however that happens."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
