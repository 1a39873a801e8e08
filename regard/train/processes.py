"""Several processes on one machine that share each batch: on a CPU they overlap better than threads.

The process that was asked to train leads; it starts the others, which run `python -m regard.worker`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from regard.config import TrainConfig
from regard.hardware import available_cores
from regard.train.team import Team, engine, torch_team
from regard.train.watchman import death_of, watched

HOST = "127.0.0.1"
JOINING = timedelta(minutes=1)
_PR_SET_PDEATHSIG = 1

Worker: TypeAlias = subprocess.Popen[bytes]


SMALLEST_PART = 256
"""Tokens of a batch below which a process is not worth starting for them."""


def processes_for(config: TrainConfig, device: torch.device) -> int:
    """How many processes share each batch: what was asked for, or as many as there are cores, and work for them.

    Their number changes the speed of a run, and nothing else but the order in which gradients are added and, with a
    risk, the dropout of candidates.
    """
    if config.processes:
        return config.processes
    if device.type != "cpu" or "WORLD_SIZE" in os.environ:
        return 1
    return max(1, min(config.threads or available_cores(), config.batch_tokens // SMALLEST_PART))


@contextmanager
def leading_team(size: int, run: Path, device: torch.device, shard: bool = False) -> Iterator[Team]:
    """Start the other processes of a run on this machine, and lead them."""
    store = TCPStore(HOST, 0, size, is_master=True, wait_for_workers=False)
    workers = [_start(run, rank, size, store.port) for rank in range(1, size)]
    try:
        _wait_until_ready(workers, store)
        with watched(workers), engine(device, size, JOINING, store=store, rank=0):
            try:
                yield torch_team(0, size, device, shard, cut=True)
            except BaseException as error:
                lost = _dead_one(workers) if isinstance(error, RuntimeError) else None
                _end(workers)  # before they find the leader gone, and complain about that
                if lost is not None:
                    raise death_of(lost) from error
                raise
        with suppress(subprocess.TimeoutExpired):
            for worker in workers:
                worker.wait(timeout=60)
    finally:
        _end(workers)


def _start(run: Path, rank: int, size: int, port: int) -> Worker:
    """A worker in a session of its own, so that Ctrl-C reaches the leader alone, which tells it to stop."""
    numbers = (rank, size, port, os.getpid())
    arguments = [sys.executable, "-m", "regard.worker", str(run), *map(str, numbers)]
    return subprocess.Popen(arguments, start_new_session=True, stdin=subprocess.DEVNULL)


def _wait_until_ready(workers: list[Worker], store: TCPStore) -> None:
    """Wait for what precedes the engine's start, which would wait for one that is dead."""
    for rank, worker in enumerate(workers, start=1):
        while not store.check([_ready(rank)]):
            if worker.poll() is not None:
                raise death_of(worker)
            time.sleep(0.02)


def _dead_one(workers: list[Worker]) -> Worker | None:
    """The worker whose death broke the engine, if that was it: the system may tell of it a little later."""
    lost: list[Worker] = []

    def found() -> bool:
        lost.extend(worker for worker in workers if worker.poll() not in (None, 0))
        return bool(lost)

    return lost[0] if _soon(found) else None


def _soon(happened: Callable[[], bool], seconds: float = 2.0) -> bool:
    """Whether something has happened, or does within seconds: a connection breaks before its process is gone."""
    deadline = time.monotonic() + seconds
    while not (result := happened()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


def _end(workers: list[Worker]) -> None:
    for worker in workers:
        worker.kill()
        worker.wait()


@contextmanager
def joined_team(
    rank: int, size: int, port: int, leader: int, device: torch.device, shard: bool = False
) -> Iterator[Team]:
    """Take part, as a worker, in the team that the process `leader` leads."""
    end_with(leader)
    store = TCPStore(HOST, port, size, is_master=False)
    store.set(_ready(rank), "")
    with engine(device, size, JOINING, store=store, rank=rank):
        try:
            yield torch_team(rank, size, device, shard, cut=True)
        except RuntimeError:
            if _soon(lambda: os.getppid() != leader):
                os._exit(1)  # the leader has died, which is not for this process to explain
            raise


def _ready(rank: int) -> str:
    return f"regard/ready/{rank}"


def end_with(leader: int) -> None:
    """Ask the system to end this process when its leader ends, however that happens; it may have by now."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.name == "posix" and os.getppid() != leader:
        os._exit(1)
