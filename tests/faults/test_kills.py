"""Processes are killed at every step of a save and at random moments: nothing is lost, and the end is the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("needs signals and fork", allow_module_level=True)

from deaths import SAVE_STEPS
from kills import kill_runs
from savers import good_step, kill_at_random_moments, killed_in_save, save


@pytest.mark.parametrize(
    "again", [pytest.param(False, id="new step"), pytest.param(True, id="same step again", marks=pytest.mark.slow)]
)
def test_a_kill_at_any_step_of_a_save(tmp_path: Path, again: bool) -> None:
    """The next save dies at its first call, the one after at its second, …, until one lives through all of them."""
    save(tmp_path, 1)
    previous, lived = 1, False
    for calls in range(200):
        step = previous if again else previous + 1
        lived = not killed_in_save(tmp_path, step, calls)
        found = good_step(tmp_path)
        assert found in (previous, step)
        previous = found
        if lived:
            break
    assert lived
    assert calls > 20, "there are more calls than that in a save"
    assert previous == step
    assert len(list(tmp_path.iterdir())) == 1, "a save that lives leaves no rubbish of those that died"


def test_kills_at_random_moments(tmp_path: Path) -> None:
    assert kill_at_random_moments(tmp_path, kills=6, size=20_000) > 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 300_000])
def test_many_kills_at_random_moments(tmp_path: Path, size: int) -> None:
    assert kill_at_random_moments(tmp_path, kills=60, size=size) > 15


@pytest.mark.slow
def test_killed_runs_end_as_one_left_alone(tmp_path: Path) -> None:
    """A part of what `kills.py` does; steps of a save come in turn, so that each is hit."""
    report = kill_runs(tmp_path, count=20, seed=5)
    assert report.good, report.to_text()
    assert report.count == 20
    assert all(report.kills[step] for step in SAVE_STEPS)
    assert report.by_processes == {1: 12, 2: 8}
    assert report.by_scene == {"plain": 15, "tuned": 3, "taught": 2}
