"""`regard serve`, started and stopped, and how much memory it holds."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from train_systems.following import environment
from train_systems.measuring import process_memory_mb, process_peak_mb

from regard.errors import RegardError
from regard.hardware import available_cores

LONGEST_START, LONGEST_STOP = 120.0, 60.0
HOST = "127.0.0.1"


class Server:
    """A server in a process of its own, as its users start it; a context manager."""

    def __init__(self, model: Path, settings: Sequence[str] = ()) -> None:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the server
        command = [sys.executable, "-m", "regard", "serve", str(model), "--host", HOST, "--port", str(self.port)]
        for setting in settings:
            command += ["--set", setting]
        self.process = subprocess.Popen(
            command, env=environment(available_cores()), stdout=self._log, stderr=subprocess.STDOUT, text=True
        )

    def __enter__(self) -> Self:
        patience = time.monotonic() + LONGEST_START
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > patience:
                self.close()
                raise RegardError(f"the server did not start:\n{self.log()}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self) -> None:
        """Refuse to go on with a server that has ended."""
        if (code := self.process.poll()) is not None:
            raise RegardError(f"the server has ended with code {code}:\n{self.log()}")

    def memory_mb(self) -> float:
        """What it holds now."""
        return process_memory_mb(self.process.pid, "VmRSS") or 0.0

    def peak_mb(self) -> float:
        """The most that it has held."""
        return process_peak_mb(self.process.pid) or 0.0

    def log(self) -> str:
        """The last lines that it printed."""
        self._log.seek(0)
        return "\n".join(self._log.read().splitlines()[-8:])

    def close(self) -> None:
        """Ask it to stop, and see it gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(LONGEST_STOP)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
