"""Processes that do nothing but save checkpoints, and die at any call to the system or at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from deaths import die
from scene import server
from torch import Tensor

from regard.train.checkpoint import CheckpointStore

CALLS = ["open", "mkdir", "rename", "replace", "fsync", "unlink", "rmdir", "close", "chmod", "truncate"]


def open_store(folder: Path) -> CheckpointStore:
    return CheckpointStore(folder, keep_last=1, keep_best=1)


def state(step: int, size: int = 50) -> dict[str, Tensor]:
    return {"weight": torch.full((size,), float(step)), "other": torch.arange(step, step + size)}


def save(folder: Path, step: int, size: int = 50) -> None:
    open_store(folder).save(step, state(step, size), {"step": step}, score=-float(step))


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


def killed_in_save(folder: Path, step: int, calls: int) -> bool:
    """Let a process save, but die after so many calls to the system; False if it lived through all of them."""
    child = server().Process(target=_save_and_die, args=(folder, step, calls))
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return bool(child.exitcode)


def _save_and_die(folder: Path, step: int, calls: int) -> None:
    left = calls

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                die()
            return function(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))
    safetensors.torch.save_file = deadly(safetensors.torch.save_file)
    Path.write_bytes = deadly(Path.write_bytes)  # type: ignore[method-assign]
    save(folder, step)


def kill_at_random_moments(folder: Path, kills: int, size: int) -> int:
    """Kill a process that saves again and again; gives how many kills hit a save under way."""
    chance = random.Random(size)
    save(folder, 1, size)
    previous = 1
    inside = 0
    for _ in range(kills):
        saved = server().RawValue("q", 0)  # without a lock: one that dies holding it would leave us waiting for ever
        child = server().Process(target=_save_for_ever, args=(folder, previous + 1, size, saved))
        child.start()
        deadline = time.monotonic() + 60
        while saved.value == 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        inside += any(path.name.startswith(".") for path in folder.iterdir())
        previous = good_step(folder)
        assert previous in (saved.value, saved.value + 1), "a checkpoint that was reported as saved is lost"
    return inside


def _save_for_ever(folder: Path, step: int, size: int, saved: Any) -> None:
    while True:
        save(folder, step, size)
        saved.value = step
        step += 1
