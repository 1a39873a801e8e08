from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import regard.train.contents
from regard.errors import RegardError
from regard.train.checkpoint import Checkpoint, CheckpointStore, CheckpointWarning
from regard.train.contents import read_facts, read_tensors, write_facts
from regard.train.manifest import DamagedCheckpoint, FileRecord, describe_files

TENSORS, FACTS, MANIFEST = "tensors.safetensors", "facts.json", "manifest.json"


def some_tensors(step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return {
        "model.weight": torch.randn(7, 3, generator=generator),
        "model.double": torch.randn(5, generator=generator, dtype=torch.float64),
        "optimiser.step": torch.tensor(float(step)),
        "random": generator.get_state(),
        "counts": torch.arange(step, step + 4),
        "empty": torch.zeros(0, 3),
        "flags": torch.tensor([True, False]),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
    }


def save(store: CheckpointStore, step: int, score: float | None = None) -> Path:
    return store.save(step, some_tensors(step), {"step": step, "rate": 0.1 * step}, score)


def assert_equal_tensors(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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


@pytest.fixture(scope="module")
def facts_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("facts") / FACTS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(facts=st.dictionaries(st.text(), json_values, max_size=4))
def test_facts_come_back_exactly(facts_path: Path, facts: dict[str, Any]) -> None:
    write_facts(facts_path, facts)
    content = facts_path.read_bytes()
    json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert repr(read_facts(content)) == repr(facts)


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


def test_a_damaged_one_is_named_and_the_one_before_is_used(store: CheckpointStore) -> None:
    save(store, 1, 1.0)
    (save(store, 2, 0.5) / TENSORS).write_bytes(b"")
    with pytest.warns(CheckpointWarning, match=r"step-00000002: damaged checkpoint: tensors.safetensors has 0 bytes"):
        checkpoint = store.latest()
    assert checkpoint is not None
    assert checkpoint.step == 1
    with pytest.warns(CheckpointWarning, match="step-00000002"):
        best = store.best()
    assert best is not None
    assert best.step == 1
    assert store.latest_step() == 1


def test_when_all_are_damaged_the_error_names_each(store: CheckpointStore) -> None:
    for path in [save(store, 1, 1.0), save(store, 2, 1.0)]:
        (path / MANIFEST).unlink()
    for ask in (store.latest, store.best, lambda: store.last(2)):
        with (
            pytest.warns(CheckpointWarning),
            pytest.raises(
                RegardError, match=r"no checkpoint there can be used .*00002: manifest.json is missing.*00001"
            ),
        ):
            ask()


def test_a_damaged_one_without_scores_elsewhere_is_no_error_for_best(store: CheckpointStore) -> None:
    save(store, 1)
    (save(store, 2) / MANIFEST).unlink()
    with pytest.warns(CheckpointWarning):
        assert store.best() is None


def test_going_on_from_before_a_damaged_one(store: CheckpointStore) -> None:
    """The damaged one stays, and does not push out good ones, until its step is reached again."""
    save(store, 2)
    save(store, 4)
    (save(store, 6) / FACTS).write_bytes(b"{}")
    save(store, 5)
    assert names_in(store.folder) == ["step-00000004", "step-00000005", "step-00000006"]
    save(store, 6)
    assert names_in(store.folder) == ["step-00000005", "step-00000006.2"]
    assert store.latest_step() == 6


def test_a_checkpoint_damaged_after_it_was_opened_is_not_loaded(store: CheckpointStore) -> None:
    path = save(store, 1)
    checkpoint = store.latest()
    assert checkpoint is not None
    content = bytearray((path / TENSORS).read_bytes())
    content[-1] ^= 1
    (path / TENSORS).write_bytes(content)
    with pytest.raises(DamagedCheckpoint, match="sha256"):
        checkpoint.tensors()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_not_a_plain_file_is_refused(store: CheckpointStore, kind: str) -> None:
    path = save(store, 1)
    for name in (TENSORS, FACTS, MANIFEST):
        content = (path / name).read_bytes()
        (path / name).unlink()
        if kind == "link":
            (store.folder / "elsewhere").write_bytes(content)
            (path / name).symlink_to(store.folder / "elsewhere")
        elif kind == "folder":
            (path / name).mkdir()
        else:
            os.mkfifo(path / name)
        with pytest.raises(DamagedCheckpoint, match=f"{name} is not a plain file"):
            Checkpoint.open(path)
        shutil.rmtree(path / name) if kind == "folder" else (path / name).unlink()
        (path / name).write_bytes(content)
    Checkpoint.open(path)


def test_a_manifest_cannot_reach_outside(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.folder.mkdir(parents=True)
    (store.folder / "secret").write_text("x")
    record = FileRecord(1, hashlib.sha256(b"x").hexdigest())
    monkeypatch.setattr(
        "regard.train.checkpoint.describe_files", lambda folder: {**describe_files(folder), "../secret": record}
    )
    with pytest.raises(DamagedCheckpoint, match=r"\.\./secret is missing"):
        Checkpoint.open(save(store, 1))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_an_error_of_the_disk_leaves_the_last_good_one(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    save(store, 1)

    def fail(*_: object) -> None:
        message = f"Error while serializing: I/O error: {os.strerror(number)} (os error {number})"
        raise safetensors.SafetensorError(message)

    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    expected = rf"step-00000002: cannot be written \({os.strerror(number)}\); .*The checkpoint of step 1 is intact"
    with pytest.raises(RegardError, match=expected):
        save(store, 2)
    assert names_in(store.folder) == ["step-00000001"]
    checkpoint = store.latest()
    assert checkpoint is not None
    assert_equal_tensors(checkpoint.tensors(), some_tensors(1))


@pytest.mark.filterwarnings("ignore::regard.train.checkpoint.CheckpointWarning")
@pytest.mark.parametrize(
    ("damaged", "left"), [([2], "The checkpoint of step 1 is intact"), ([1, 2], "No checkpoint there is intact")]
)
def test_what_is_called_intact_was_read_to_its_last_byte(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch, damaged: list[int], left: str
) -> None:
    for path in (save(store, 1), save(store, 2)):
        if int(path.name[-1]) in damaged:
            content = (path / TENSORS).read_bytes()
            (path / TENSORS).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    with pytest.raises(RegardError, match=f"the disk is full.*{left}$"):
        save(store, 3)


def test_a_file_cut_off_in_silence_is_not_sealed(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = safetensors.torch.save_file

    def cut_off(tensors: dict[str, Tensor], path: Path) -> None:
        whole(tensors, path)
        os.truncate(path, path.stat().st_size - 1)

    monkeypatch.setattr(regard.train.contents.safetensors.torch, "save_file", cut_off)
    with pytest.raises(RegardError, match=r"only a part was written.*There is no checkpoint yet"):
        save(store, 1)
    assert names_in(store.folder) == []


def test_a_folder_that_is_a_file_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("")
    store = CheckpointStore(tmp_path / "checkpoints")
    with pytest.raises(RegardError, match="cannot be listed"):
        store.latest()
    with pytest.raises(RegardError, match="cannot be listed"):
        save(store, 1)


def test_tensors_are_those_that_the_library_reads() -> None:
    content = safetensors.torch.save(some_tensors(3))
    assert_equal_tensors(read_tensors(bytearray(content)), safetensors.torch.load(content))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"F32"', b'"F99"'),
        (b'"F64"', b'"F32"'),
        (b'"shape":[7,3]', b'"shape":[9,9]'),
        (b'"shape":[7,3]', b'"shape":"ab"'),
        (b'"data_offsets"', b'"data_offsetz"'),
        (b'{"', b'["'),
        (b"data_offsets", b"\xff" * 12),
    ],
)
def test_what_is_no_file_of_tensors_is_said_to_be_none(old: bytes, new: bytes) -> None:
    content = safetensors.torch.save(some_tensors(3))
    assert old in content
    with pytest.raises(ValueError, match="no safetensors"):
        read_tensors(bytearray(content.replace(old, new, 1)))


@pytest.mark.parametrize("length", [0, 4, 8, 20, -1])
def test_a_file_of_tensors_that_is_cut_short(length: int) -> None:
    content = safetensors.torch.save(some_tensors(3))
    with pytest.raises(ValueError, match="no safetensors"):
        read_tensors(bytearray(content[:length]))
