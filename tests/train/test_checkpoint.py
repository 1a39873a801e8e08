"""Checkpoints come back to the bit, and the right ones are kept."""

from __future__ import annotations

import math
import shutil
import stat
from pathlib import Path

import pytest
import torch
from saved import FACTS, MANIFEST, TENSORS, assert_equal_tensors, names_in, save, some_tensors

from regard.errors import RegardError
from regard.train.checkpoint import CheckpointStore, CheckpointWarning


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "run" / "checkpoints", keep_last=2, keep_best=1)


def test_what_was_saved_comes_back_to_the_bit(store: CheckpointStore) -> None:
    path = store.save(600, some_tensors(600), {"rate": 0.1 + 0.2, "list": [1, None, "é\n"], "deep": {"a": True}}, 2.5)
    assert path == store.folder / "step-00000600"
    assert names_in(path) == [FACTS, MANIFEST, TENSORS]
    checkpoint = store.latest()
    assert checkpoint is not None
    assert (checkpoint.step, checkpoint.score, checkpoint.path) == (600, 2.5, path)
    assert checkpoint.facts == {"rate": 0.1 + 0.2, "list": [1, None, "é\n"], "deep": {"a": True}}
    assert_equal_tensors(checkpoint.tensors(), some_tensors(600))


def test_tensors_that_share_memory_or_lie_across_it(store: CheckpointStore) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    tensors = {"tied": base, "again": base, "view": base[1:], "transposed": base.T, "column": base[:, 1]}
    store.save(1, {**tensors, "learned": torch.nn.Parameter(base)}, {})
    checkpoint = store.latest()
    assert checkpoint is not None
    assert_equal_tensors(checkpoint.tensors(), {**tensors, "learned": base})


def test_no_tensors_and_no_facts(store: CheckpointStore) -> None:
    store.save(1, {}, {})
    checkpoint = store.latest()
    assert checkpoint is not None
    assert checkpoint.tensors() == {}
    assert checkpoint.facts == {}


def test_others_may_read_what_they_usually_may(store: CheckpointStore) -> None:
    path = save(store, 1)
    modes = {stat.S_IMODE((path / name).stat().st_mode) for name in names_in(path)}
    (path.parent / "usual").write_text("")
    assert modes == {stat.S_IMODE((path.parent / "usual").stat().st_mode)}


def test_an_empty_or_absent_folder_has_none(store: CheckpointStore) -> None:
    assert (store.latest(), store.best(), store.last(3), store.latest_step()) == (None, None, [], None)
    store.folder.mkdir(parents=True)
    (store.folder / "notes.txt").write_text("not a checkpoint")
    assert (store.latest(), store.best(), store.last(3), store.latest_step()) == (None, None, [], None)


def test_the_newest_and_the_best_are_kept(store: CheckpointStore) -> None:
    for step, score in [(10, 3.0), (20, 1.0), (30, None), (40, math.nan), (50, 2.0), (60, 1.0)]:
        save(store, step, score)
    assert names_in(store.folder) == ["step-00000020", "step-00000050", "step-00000060"]
    best = store.best()
    assert best is not None
    assert best.step == 20, "the earliest of equals"
    assert [checkpoint.step for checkpoint in store.last(2)] == [60, 50]
    assert [checkpoint.step for checkpoint in store.last(9)] == [60, 50, 20]
    assert store.latest_step() == 60


def test_the_best_few_come_best_first(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1, keep_best=3)
    for step, score in [(10, 3.0), (20, 1.0), (30, 2.0), (40, None), (50, 5.0), (60, 1.0)]:
        save(store, step, score)
    assert [checkpoint.step for checkpoint in store.best_few(3)] == [20, 60, 30]
    assert [checkpoint.step for checkpoint in store.best_few(9)] == [20, 60, 30]
    assert CheckpointStore(tmp_path / "none").best_few(3) == []


def test_higher_may_be_better(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1, keep_best=2, lower_is_better=False)
    for step, score in [(1, 10.0), (2, 30.0), (3, 20.0), (4, 5.0)]:
        save(store, step, score)
    assert names_in(tmp_path) == ["step-00000002", "step-00000003", "step-00000004"]
    best = store.best()
    assert best is not None
    assert best.step == 2


def test_none_but_the_last_without_keep_best(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1, keep_best=0)
    for step in (1, 2, 3):
        save(store, step, float(step))
    assert names_in(tmp_path) == ["step-00000003"]


def test_numbers_of_any_length_stay_in_order(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=3)
    for step in (99_999_999, 100_000_000, 1_000_000_000):
        save(store, step)
    assert [checkpoint.step for checkpoint in store.last(3)] == [1_000_000_000, 100_000_000, 99_999_999]


def test_a_step_saved_again_takes_the_place_of_the_first(store: CheckpointStore) -> None:
    save(store, 5)
    for rate in (1.5, 2.5):
        store.save(5, some_tensors(6), {"rate": rate})
        assert len(names_in(store.folder)) == 1
        checkpoint = store.latest()
        assert checkpoint is not None
        assert (checkpoint.step, checkpoint.facts) == (5, {"rate": rate})
        assert_equal_tensors(checkpoint.tensors(), some_tensors(6))


def test_nothing_is_removed_before_the_new_one_is_in_place(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, 1)
    save(store, 2)
    seen: list[list[str]] = []

    def watched(path: Path) -> None:
        seen.append([path.name, *(name for name in names_in(store.folder))])
        shutil.rmtree(path)

    monkeypatch.setattr("regard.train.checkpoint.remove_folder", watched)
    save(store, 3)
    assert seen == [["step-00000001", "step-00000001", "step-00000002", "step-00000003"]]


def test_a_removal_that_fails_is_only_a_warning(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise RegardError(f"{path}: cannot be removed")

    monkeypatch.setattr("regard.train.checkpoint.remove_folder", refuse)
    save(store, 1)
    save(store, 2)
    with pytest.warns(CheckpointWarning, match="step-00000001: cannot be removed"):
        save(store, 3)
    assert store.latest_step() == 3


def test_an_interim_one_is_there_to_go_on_from_and_counts_for_nothing_else(store: CheckpointStore) -> None:
    for step, interim in [(10, False), (20, False), (23, True)]:
        store.save(step, some_tensors(step), {}, interim=interim)
    latest = store.latest()
    assert latest is not None
    assert (latest.step, latest.interim) == (23, True)
    assert [checkpoint.step for checkpoint in store.last(2)] == [20, 10]
    save(store, 30)
    assert names_in(store.folder) == ["step-00000020", "step-00000030"]


def test_what_a_killed_removal_left_is_removed(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "_prune", lambda store, saved: None)
        for step, score in [(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0)]:
            save(store, step, score)
    shutil.copytree(store.folder / "step-00000001", store.folder / ".step-00000000.0123abcd.gone")
    newest = store.latest()
    assert newest is not None
    store.tidy(newest)
    assert names_in(store.folder) == ["step-00000001", "step-00000003", "step-00000004"]


def test_leftovers_of_a_killed_save_are_swept(store: CheckpointStore) -> None:
    save(store, 1)
    shutil.copytree(store.folder / "step-00000001", store.folder / ".step-00000002.0123abcd.part")
    shutil.copytree(store.folder / "step-00000001", store.folder / ".step-00000000.0123abcd.gone")
    assert [checkpoint.step for checkpoint in store.last(5)] == [1]
    assert len(names_in(store.folder)) == 3, "a reader changes nothing: another process may be writing"
    save(store, 3)
    assert names_in(store.folder) == ["step-00000001", "step-00000003"]
