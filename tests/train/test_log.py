from __future__ import annotations

import errno
import json
import math
import os
import sys
from pathlib import Path

import pytest

import regard.train.log
from regard.errors import RegardError
from regard.train.log import MetricsLog, read_log


def steps(run: Path) -> list[int]:
    return [line["step"] for line in read_log(run / "log.jsonl")]


def filled(run: Path, count: int = 5) -> MetricsLog:
    log = MetricsLog(run)
    log.resume()
    for step in range(1, count + 1):
        log.write(step, "train", seconds=step / 2, loss=1 / step)
    return log


def test_lines_are_json_and_there_as_soon_as_they_are_written(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "run")
    log.write(50, "train", seconds=1.23456, loss=0.1 + 0.2, learning_rate=1e-4)
    log.write(100, "validation", seconds=2.0, loss=3.5, bleu=None, words="été 猫\n", pairs=[1, 2])
    content = (tmp_path / "run" / "log.jsonl").read_bytes()
    assert content.count(b"\n") == 2
    assert [json.loads(line) for line in content.splitlines()] == [
        {"step": 50, "kind": "train", "seconds": 1.235, "loss": 0.1 + 0.2, "learning_rate": 1e-4},
        {
            "step": 100,
            "kind": "validation",
            "seconds": 2.0,
            "loss": 3.5,
            "bleu": None,
            "words": "été 猫\n",
            "pairs": [1, 2],
        },
    ]
    assert read_log(tmp_path / "run" / "log.jsonl") == [json.loads(line) for line in content.splitlines()]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_null(tmp_path: Path, value: float) -> None:
    MetricsLog(tmp_path).write(1, "bad", seconds=0.0, loss=value, deep={"a": [value, 1.0]})
    line = json.loads(
        (tmp_path / "log.jsonl").read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    assert line == {"step": 1, "kind": "bad", "seconds": 0.0, "loss": None, "deep": {"a": [None, 1.0]}}


def test_resuming_forgets_the_steps_that_come_again(tmp_path: Path) -> None:
    filled(tmp_path, count=5)
    before = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    log = MetricsLog(tmp_path)
    log.resume(3)
    assert (tmp_path / "log.jsonl").read_bytes() == b"".join(before[:3])
    log.write(4, "train", seconds=9.0)
    assert steps(tmp_path) == [1, 2, 3, 4]
    log.resume(0)
    assert steps(tmp_path) == []


def test_resuming_without_a_log_begins_an_empty_one(tmp_path: Path) -> None:
    MetricsLog(tmp_path / "run").resume(7)
    assert steps(tmp_path / "run") == []


@pytest.mark.parametrize("keep", range(1, 20))
def test_a_line_that_a_crash_cut_off_is_dropped(tmp_path: Path, keep: int) -> None:
    log = filled(tmp_path, count=3)
    path = tmp_path / "log.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:keep])
    assert steps(tmp_path) == [1, 2, 3]
    log.resume(3)
    assert path.read_bytes() == whole


def test_an_unreadable_line_is_left_out_with_a_warning(tmp_path: Path) -> None:
    filled(tmp_path, count=2)
    path = tmp_path / "log.jsonl"
    junk = (
        b'{"step": 1\n\x00\x00\n[1]\n{"step": "1", "kind": "train"}\n{"step": true, "kind": "x"}\n\xff\n'
        + b"[" * 9999
        + b"\n"
    )
    path.write_bytes(junk + path.read_bytes())
    with pytest.warns(UserWarning, match=r"log.jsonl: 7 unreadable lines are left out, the first is line 1"):
        assert steps(tmp_path) == [1, 2]


def test_a_missing_log_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no such log"):
        read_log(tmp_path / "log.jsonl")
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(RegardError, match="cannot be read"):
        read_log(tmp_path / "log.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    with pytest.raises(RegardError, match=r"log.jsonl: cannot be written .*the disk is full"):
        MetricsLog(tmp_path).write(1, "train", seconds=0.0)


def test_a_resume_that_fails_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path)
    before = (tmp_path / "log.jsonl").read_bytes()

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(RegardError, match="disk is full"):
        log.resume(2)
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_tensorboard_gets_the_numbers(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with MetricsLog(tmp_path, tensorboard=True) as log:
        log.resume(0)
        for step in (1, 2, 3):
            log.write(step, "train", seconds=1.0, loss=step / 2, words="left out")
    with MetricsLog(tmp_path, tensorboard=True) as log:  # killed, and resumed from step 1
        log.resume(1)
        log.write(2, "train", seconds=1.0, loss=9.0)
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss"]
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(1, 0.5), (2, 9.0)]


def test_without_tensorboard_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RegardError, match=r"pip install -e '\.\[track\]'"):
        MetricsLog(tmp_path, tensorboard=True)
    regard.train.log.MetricsLog(tmp_path).write(1, "train", seconds=0.0)
