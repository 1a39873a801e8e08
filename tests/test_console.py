"""Running commands: mistakes become a sentence, and `--json` may stand bare."""

import errno
import subprocess
import sys
import warnings

import pytest

from regard import console
from regard.errors import RegardError
from regard.train.signals import Interrupted


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["evaluate", "m", "--json"], ["evaluate", "m", "--json=-"]),
        (["evaluate", "m", "--json", "--by-length"], ["evaluate", "m", "--json=-", "--by-length"]),
        (["evaluate", "m", "--json", "out.json"], ["evaluate", "m", "--json", "out.json"]),
        (["evaluate", "m", "--json", "-"], ["evaluate", "m", "--json", "-"]),
        (["evaluate", "m", "--json=out.json"], ["evaluate", "m", "--json=out.json"]),
        (["train", "r", "--", "--json"], ["train", "r", "--", "--json"]),
        (["train", "r"], ["train", "r"]),
        ([], []),
    ],
)
def test_json_may_stand_bare(given: list[str], expected: list[str]) -> None:
    assert console.with_optional_value("--json", "-", given) == expected


def failing_with(error: BaseException):
    def command(_: list[str]) -> None:
        raise error

    return command


def outcome(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        console.run(failing_with(error), [])
    output, errors = capsys.readouterr()
    assert output == ""
    return left.value.code, errors  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RegardError("a.txt: no such file"), 2, "regard: error: a.txt: no such file\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2, "/x: permission denied"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "runs"), 2, "runs: is a folder"),
        (MemoryError(), 2, "out of memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), 2, "out of memory"),
        (Interrupted(15, "stopped at step 7"), 143, "stopped at step 7"),
        (ZeroDivisionError("division by zero"), 1, "please report it (ZeroDivisionError: division by zero)"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(
    error: Exception, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    left, errors = outcome(error, capsys)
    assert left == code
    assert message in errors
    assert errors.count("\n") == 1


def test_developer_sees_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        console.run(failing_with(ZeroDivisionError()), [])


def test_warning_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    def command(_: list[str]) -> None:
        warnings.warn("line 3: too long", stacklevel=1)

    console.run(command, [])
    assert capsys.readouterr() == ("", "regard: warning: line 3: too long\n")


def test_an_interrupt_that_python_drops_is_not_forgotten():
    script = """
import os, signal
from regard import console

signal.signal(signal.SIGINT, signal.default_int_handler)

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def command(arguments):
    Dying()
    print("went on")

console.run(command, [])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "went on\n"
    assert done.stderr == ""
    assert done.returncode == 130
