"""A run whose disk takes no more stops with an error in words, and goes on to the same end when there is room."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("needs signals and fork", allow_module_level=True)

from disks import CannotMount, fill_disks
from scene import Scene, problems

from regard.train.checkpoint import CheckpointStore


@dataclass(frozen=True)
class SmallFilesFrom:
    """Let this process write no file of more than so many bytes, from its `number`-th save on."""

    number: int
    most_bytes: int

    def install(self) -> None:
        original, saves = CheckpointStore.save, 0

        def save(*arguments: object, **options: object) -> Path:
            nonlocal saves
            saves += 1
            if saves == self.number:
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, resource.RLIM_INFINITY))
            return original(*arguments, **options)  # type: ignore[arg-type]

        CheckpointStore.save = save  # type: ignore[method-assign]


@pytest.mark.slow
@pytest.mark.parametrize("save", [1, 3])
def test_a_checkpoint_that_does_not_fit(tmp_path: Path, save: int) -> None:
    """What needs no rights: the system refuses files of that size."""
    scene = Scene(tmp_path)
    run = scene.new_run()
    end = scene.start(run, hooks=[SmallFilesFrom(save, 100_000)]).wait()
    left = "There is no checkpoint yet" if save == 1 else f"The checkpoint of step {2 * save - 2} is intact"
    assert (end.code, end.clean) == (2, True)
    assert "cannot be written (File too large)" in end.said
    assert left in end.said
    assert problems(run) == []
    assert scene.start(run).wait().code == 0
    assert scene.differences(run) == []


@pytest.mark.slow
def test_full_and_read_only_disks(tmp_path: Path) -> None:
    """A part of what `disks.py` does."""
    try:
        report = fill_disks(tmp_path, count=4, seed=5)
    except CannotMount as reason:
        pytest.skip(f"no disk can be mounted here: {reason}")
    assert report.good, report.to_text()
    assert (report.full.total(), report.read_only) == (4, 1)
