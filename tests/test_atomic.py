from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.atomic import make_folder, new_folder, remove_folder, sweep, write_file
from regard.errors import RegardError

SYSTEM_CALLS = ["fsync", "open", "replace", "rename", "mkdir"]


class Countdown:
    """Lets `calls` calls pass, and fails the next with `error`."""

    def __init__(self, calls: int, error: Callable[[], BaseException]) -> None:
        self.left, self.error, self.fired = calls, error, False

    def __call__(self, function: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **kwargs: object) -> object:
            self.left -= 1
            if self.left == -1:
                self.fired = True
                raise self.error()
            return function(*args, **kwargs)

        return counted


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def full_disk() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fails_at_every_call(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> int:
    """Run `action` again and again, the disk full at the first, second, … system call, until none is left."""
    for calls in range(100):
        countdown = Countdown(calls, full_disk)
        with monkeypatch.context() as patch:
            for name in SYSTEM_CALLS:
                patch.setattr(os, name, countdown(getattr(os, name)))
            failure = None
            try:
                action()
            except RegardError as error:
                failure = str(error)
        assert countdown.fired == (failure is not None), "an error of the system was swallowed"
        if failure is None:
            return calls
        assert "disk is full" in failure
    raise AssertionError("it never succeeded")


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_file(path, b"first")
    write_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert names_in(path.parent) == ["file"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_file(tmp_path / "ours", b"")
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_full_disk_leaves_the_old_file_whatever_call_it_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def action() -> None:
        try:
            write_file(path, b"new")
        except RegardError:
            seen.append(path.read_bytes())
            assert names_in(tmp_path) == ["file"]
            raise

    assert fails_at_every_call(monkeypatch, action) >= 3
    assert seen[0] == b"old"
    assert set(seen) <= {b"old", b"new"}
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_to_full_device(_: int) -> None:
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"x")

    monkeypatch.setattr(os, "fsync", write_to_full_device)
    with pytest.raises(RegardError, match=r"file: cannot be written \(No space left on device\); the disk is full"):
        write_file(tmp_path / "file", b"content")


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.EROFS, "read-only"), (errno.EACCES, "permissions"), (errno.EIO, "look at the disk")]
)
def test_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str) -> None:
    monkeypatch.setattr(os, "mkdir", Countdown(0, lambda: OSError(number, os.strerror(number)))(os.mkdir))
    with pytest.raises(RegardError, match=remedy), new_folder(tmp_path / "new"):
        pass


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    with pytest.raises(RegardError, match="is a file"):
        write_file(tmp_path / "file" / "inner", b"")
    with pytest.raises(RegardError, match="is a file"), new_folder(tmp_path / "file" / "a" / "inner"):
        pass
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_a_file_cannot_take_a_folders_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RegardError, match="there is a folder of that name"):
        write_file(tmp_path / "folder", b"")
    assert names_in(tmp_path) == ["folder"]


def test_a_folder_appears_when_it_is_finished(tmp_path: Path) -> None:
    with new_folder(tmp_path / "deep" / "new") as aside:
        (aside / "inner").mkdir()
        (aside / "inner" / "file").write_text("x")
        assert not (tmp_path / "deep" / "new").exists()
    assert (tmp_path / "deep" / "new" / "inner" / "file").read_text() == "x"
    assert names_in(tmp_path / "deep") == ["new"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_stays_of_a_folder_that_failed(tmp_path: Path, error: type[BaseException]) -> None:
    def fill_and_fail() -> None:
        with new_folder(tmp_path / "new") as aside:
            (aside / "file").write_text("x")
            raise error

    with pytest.raises(error):
        fill_and_fail()
    assert names_in(tmp_path) == []


def test_a_full_disk_leaves_no_part_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def action() -> None:
        if (tmp_path / "new").exists():  # the call that failed came after the rename
            remove_folder(tmp_path / "new")
        try:
            with new_folder(tmp_path / "new") as aside:
                (aside / "one").write_text("1")
                (aside / "two").write_text("2")
        except RegardError:
            names = names_in(tmp_path)
            assert names == [] or (names == ["new"] and names_in(tmp_path / "new") == ["one", "two"])
            raise

    assert fails_at_every_call(monkeypatch, action) >= 6


def test_what_is_no_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    for name in ("file", "link"):
        with pytest.raises(RegardError, match="something of that name"), new_folder(tmp_path / name):
            pytest.fail("work was begun")
    assert names_in(tmp_path) == ["file", "link", "there"]


def test_a_folder_with_content_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("x")
    with pytest.raises(RegardError, match="not empty"), new_folder(tmp_path / "old"):
        pass
    assert (tmp_path / "old" / "file").read_text() == "x"
    assert names_in(tmp_path) == ["old"]


@pytest.mark.parametrize(
    ("name", "words"), [(".", "in use"), ("../here", "in use"), ("..", "not empty"), ("/", "empty")]
)
def test_folders_that_are_named_by_the_way_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(RegardError, match=words), new_folder(name):
        pass
    with new_folder("../here/../there") as folder:
        (folder / "file").write_text("x")
    assert names_in(tmp_path) == ["here", "there"]
    assert names_in(tmp_path / "there") == ["file"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_every_file_and_folder_is_flushed_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, rename = os.fsync, os.rename

    def watched_fsync(handle: int) -> None:
        events.append(Path(f"/proc/self/fd/{handle}").readlink().name.split(".")[-1])
        fsync(handle)

    def watched_rename(old: str, new: str) -> None:
        events.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "rename", watched_rename)
    with new_folder(tmp_path / "new") as aside:
        (aside / "inner").mkdir()
        (aside / "one").write_text("1")
        (aside / "inner" / "two").write_text("2")
    assert events == ["two", "inner", "one", "part", "rename", tmp_path.name]


def test_removal_and_sweeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        with new_folder(tmp_path / name) as aside:
            (aside / "file").write_text("x")
    remove_folder(tmp_path / "one")
    assert names_in(tmp_path) == ["two"]
    with monkeypatch.context() as patch:  # a kill after the rename
        patch.setattr("regard.atomic._erase", lambda path: None)
        remove_folder(tmp_path / "two")
    (tmp_path / ".file.0123abcd.part").write_text("left over")
    (tmp_path / ".kept").write_text("somebody's own")
    sweep(tmp_path)
    assert names_in(tmp_path) == [".kept"]
    sweep(tmp_path / "absent")
    with pytest.raises(RegardError, match="cannot be removed"):
        remove_folder(tmp_path / "absent")


def test_make_folder_may_be_called_again(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
