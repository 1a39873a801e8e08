"""Two processes under torchrun learn as one does, and go on to the same end when one of them was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

if not Path("/proc").is_dir():
    pytest.skip("finds the processes in /proc", allow_module_level=True)

from ranks import kill_ranks


@pytest.mark.slow
def test_two_ranks_learn_as_one_and_go_on_when_either_was_killed(tmp_path: Path) -> None:
    """A part of what `ranks.py` does."""
    report = kill_ranks(tmp_path, count=2, seed=5)
    assert report.good, report.to_text()
    assert report.kills == {0: 1, 1: 1}
