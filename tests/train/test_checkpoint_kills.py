"""Processes that save checkpoints are killed at every step of a save and at random moments: one must always be left."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor

from regard.train.checkpoint import CheckpointStore

CALLS = ["open", "mkdir", "rename", "replace", "fsync", "unlink", "rmdir", "close", "chmod", "truncate"]
DEATH = 77

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and fork")


@pytest.fixture(scope="module")
def processes() -> Any:
    """Children of a small server that has torch loaded: they start in milliseconds, and are clean of pytest."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "pytest", "torch", "regard.train.checkpoint"])
    return context


def open_store(folder: Path) -> CheckpointStore:
    return CheckpointStore(folder, keep_last=1, keep_best=1)


def state(step: int, size: int = 50) -> dict[str, Tensor]:
    return {"weight": torch.full((size,), float(step)), "other": torch.arange(step, step + size)}


def good_step(folder: Path) -> int:
    """The step that a run would go on from; what is loaded must be just what that step saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a kill must leave nothing damaged behind, either
        checkpoint = open_store(folder).latest()
        assert checkpoint is not None
        tensors = checkpoint.tensors()
        assert open_store(folder).best() is not None
    expected = state(checkpoint.step, len(tensors["weight"]))
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert checkpoint.facts == {"step": checkpoint.step}
    return checkpoint.step


def save(folder: Path, step: int, size: int = 50) -> None:
    open_store(folder).save(step, state(step, size), {"step": step}, score=-float(step))


def save_and_die(folder: Path, step: int, calls: int) -> None:
    """Save, but die at a call to the system: at once, without a word, as from SIGKILL."""
    left = calls

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                os._exit(DEATH)
            return function(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))
    safetensors.torch.save_file = deadly(safetensors.torch.save_file)
    Path.write_bytes = deadly(Path.write_bytes)  # type: ignore[method-assign]
    save(folder, step)


@pytest.mark.parametrize(
    "again", [pytest.param(False, id="new step"), pytest.param(True, id="same step again", marks=pytest.mark.slow)]
)
def test_a_kill_at_any_step_of_a_save(processes: Any, tmp_path: Path, again: bool) -> None:
    """The next save dies at its first call, the one after at its second, …, until one lives through all of them."""
    save(tmp_path, 1)
    previous, finished = 1, False
    for calls in range(200):
        step = previous if again else previous + 1
        child = processes.Process(target=save_and_die, args=(tmp_path, step, calls))
        child.start()
        child.join()
        assert child.exitcode in (0, DEATH)
        found = good_step(tmp_path)
        assert found in (previous, step)
        previous = found
        if child.exitcode == 0:
            finished = True
            break
    assert finished
    assert calls > 20, "there are more calls than that in a save"
    assert previous == step
    assert len(list(tmp_path.iterdir())) == 1, "a save that lives leaves no rubbish of those that died"


def save_for_ever(folder: Path, step: int, size: int, progress: Any) -> None:
    while True:
        save(folder, step, size)
        progress.value = step
        step += 1


def kill_at_random_moments(processes: Any, folder: Path, kills: int, size: int) -> int:
    """Kill a process that does nothing but save, again and again; gives how many kills hit a save under way."""
    chance = random.Random(size)
    save(folder, 1, size)
    previous = 1
    inside = 0
    for _ in range(kills):
        progress = processes.Value("q", 0)
        child = processes.Process(target=save_for_ever, args=(folder, previous + 1, size, progress))
        child.start()
        deadline = time.monotonic() + 60
        while progress.value == 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        inside += any(path.name.startswith(".") for path in folder.iterdir())
        found = good_step(folder)
        assert found in (progress.value, progress.value + 1), "a checkpoint that was reported as saved is lost"
        previous = found
    return inside


def test_kills_at_random_moments(processes: Any, tmp_path: Path) -> None:
    assert kill_at_random_moments(processes, tmp_path, kills=6, size=20_000) > 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 300_000])
def test_many_kills_at_random_moments(processes: Any, tmp_path: Path, size: int) -> None:
    assert kill_at_random_moments(processes, tmp_path, kills=60, size=size) > 15
