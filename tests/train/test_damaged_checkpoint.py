"""Damaged checkpoints are named and never loaded in silence; an error of the disk leaves the last good one."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from pathlib import Path

import pytest
import safetensors.torch
from saved import FACTS, MANIFEST, TENSORS, assert_equal_tensors, names_in, save, some_tensors
from torch import Tensor

import regard.train.contents
from regard.errors import RegardError
from regard.train.checkpoint import Checkpoint, CheckpointStore, CheckpointWarning
from regard.train.manifest import DamagedCheckpoint, FileRecord, describe_files


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "run" / "checkpoints", keep_last=2, keep_best=1)


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
