"""Running a command for a person: mistakes become one sentence and exit code 2, never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TextIO

from regard.errors import LostProcessError, RegardError
from regard.train.signals import Interrupted

USER_ERROR = 2
INTERNAL_ERROR = 1
INTERRUPTED = 130
SHOW_TRACEBACK = "REGARD_TRACEBACK"

_OPERATING_SYSTEM_ADVICE = {
    errno.ENOSPC: "the disk is full; make room, then run the command again",
    errno.EDQUOT: "your disk quota is used up; make room, then run the command again",
    errno.EACCES: "permission denied; choose another place, or change its permissions",
    errno.EPERM: "operation not permitted; choose another place, or change its permissions",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.EISDIR: "is a folder, where a file is needed",
    errno.ENOTDIR: "a part of this path is a file, where a folder is needed",
    errno.ENOENT: "no such file or folder",
    errno.EEXIST: "exists already; choose another name",
    errno.ENAMETOOLONG: "the name is too long",
}


def run(command: Callable[[list[str]], None], arguments: Sequence[str]) -> None:
    """Run a command line, and leave with a sentence on standard error where something went wrong."""
    warnings.showwarning = _show_warning
    try:
        with _interrupts_noted() as asked_to_stop:
            command(with_optional_value("--json", "-", arguments))
        sys.stdout.flush()
        if asked_to_stop:
            sys.exit(INTERRUPTED)
    except (Exception, Interrupted) as error:
        if os.environ.get(SHOW_TRACEBACK):
            raise
        _leave(error)
    finally:
        _abandon_unwritable_output()


@contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """A list of the Ctrl-Cs that come inside: Python drops the exception of one that hits the clean-up of an object."""
    asked: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return

    def handle(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        signal.default_int_handler(number, frame)

    def dropped(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = hook


def with_optional_value(option: str, value: str, arguments: Sequence[str]) -> list[str]:
    """Let an option stand bare: where no word follows it that could be its value, it gets `value`."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    for index in range(end):
        follower = given[index + 1] if index + 1 < end else None
        if given[index] == option and (follower is None or (follower.startswith("-") and follower != "-")):
            given[index] = f"{option}={value}"
    return given


def _show_warning(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    print(f"regard: warning: {message}", file=sys.stderr, flush=True)


def _leave(error: Exception | Interrupted) -> NoReturn:
    message, code = explain(error)
    label = "regard: " if isinstance(error, Interrupted) else "regard: error: "
    print(label + message, file=sys.stderr, flush=True)
    if isinstance(error, LostProcessError):
        os._exit(code)  # tidying up after the lost one can wait for ever for an answer from it
    sys.exit(code)


def explain(error: Exception | Interrupted) -> tuple[str, int]:
    """The sentence for a person, and the exit code, of anything that can go wrong."""
    if isinstance(error, RegardError):
        return str(error), USER_ERROR
    if isinstance(error, Interrupted):
        return str(error), error.exit_code
    if _is_out_of_memory(error):
        advice = "out of memory; a smaller train.batch_tokens, search.batch_tokens or model needs less"
        return advice, USER_ERROR
    if isinstance(error, OSError):
        advice = _OPERATING_SYSTEM_ADVICE.get(error.errno or 0, error.strerror or str(error))
        return (f"{error.filename}: {advice}" if error.filename else advice), USER_ERROR
    fault = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"a fault in regard itself, please report it ({fault}); {SHOW_TRACEBACK}=1 shows where", INTERNAL_ERROR


def _is_out_of_memory(error: Exception) -> bool:
    words = ("out of memory", "not enough memory", "can't allocate memory")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(phrase in str(error).lower() for phrase in words)
    )


def _abandon_unwritable_output() -> None:
    """Where standard output takes no more (`| head`, a full disk), let the interpreter close it in silence."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
