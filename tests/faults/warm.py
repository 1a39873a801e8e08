"""The second process of a run, forked before it is needed: importing torch takes seconds, of which a run has few."""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


class WarmWorker:
    """Waits for the arguments of `python -m regard.worker`; to its parent it looks as if that had just been started."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._writer)
            arguments = json.loads(os.fdopen(reader).read() or "null")
            if arguments is not None:
                _be_a_worker(arguments)
            os._exit(0)
        os.close(reader)
        self._code: int | None = None

    def start(self, run: Path, *numbers: int) -> WarmWorker:
        """Takes the place of `regard.train.processes._start`."""
        with suppress(BrokenPipeError), os.fdopen(self._writer, "w") as pipe:  # it may have been killed by now
            json.dump([str(run), *map(str, numbers), str(os.getpid())], pipe)
        return self

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float = 60.0) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return -1 if code is None else code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def have_a_worker_ready() -> int:
    from regard.train import processes

    worker = WarmWorker()
    processes._start = worker.start  # type: ignore[assignment]
    return worker.pid


def _be_a_worker(arguments: list[str]) -> None:
    os.setsid()
    sys.argv = ["regard.worker", *arguments]
    code: Any = 1
    try:
        runpy.run_module("regard.worker", run_name="__main__", alter_sys=False)
        code = 0
    except SystemExit as left:
        code = left.code
    finally:
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
