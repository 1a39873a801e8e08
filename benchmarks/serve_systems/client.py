"""Many clients in a process of their own: each keeps its connection, and asks again when it has its answer.

It prints one line of JSON: how long it took, how requests ended, and how long those with an answer waited.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any, cast

import numpy as np

try:
    from uvloop import run
except ImportError:
    from asyncio import run

PATIENCE = 120.0
RECONNECT_SECONDS = 0.05


class Crowd:
    """What the clients share: what is to be asked, and what came of it."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        lines = given.texts.read_text(encoding="utf-8").splitlines()
        self.groups = [lines[start : start + given.group] for start in range(0, len(lines), given.group)]
        self.requests = [self._request(group) for group in self.groups]
        translated = given.expected.read_text(encoding="utf-8").splitlines() if given.expected else []
        self.expected = dict(zip(lines, translated, strict=bool(translated)))
        self.ends: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.bodies: list[tuple[int, bytes]] = []
        """Answers that are to be compared when all is over: to do that meanwhile would take time from the server."""
        self.sent = self.unsent = 0
        self.over = asyncio.Event()

    def _request(self, group: list[str]) -> bytes:
        given = self.given
        asked = {"q": group if given.group > 1 else group[0], "source": given.source, "target": given.target}
        body = json.dumps(asked).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {given.host}:{given.port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    @property
    def wanted(self) -> bool:
        """Whether there is more to ask, for those who ask as soon as they can."""
        return not self.given.rate and self.sent < self.given.requests

    def next(self) -> int:
        """The number of the next request."""
        self.sent += 1
        return (self.sent - 1) % len(self.requests)

    def ended(self, number: int, status: str, seconds: float, body: bytes) -> None:
        """An answer is there."""
        self.ends[status] += 1
        if status == "200":
            self.seconds.append(seconds)
            if self.expected:
                self.bodies.append((number, body))
        if not self.given.rate and self.ends.total() >= self.given.requests:
            self.over.set()

    def different(self) -> int:
        """How many translations are not what was expected."""
        count = 0
        for number, body in self.bodies:
            found = json.loads(body)["translatedText"]
            pairs = zip(self.groups[number], [found] if isinstance(found, str) else found, strict=True)
            count += sum(self.expected[text] != translated for text, translated in pairs)
        return count


class Client(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, crowd: Crowd, idle: deque[Client]) -> None:
        self.crowd, self.idle = crowd, idle
        self.transport: asyncio.Transport | None = None
        self.received = b""
        self.number: int | None = None
        self.began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self.rest()

    def rest(self) -> None:
        """Ask again, or wait until somebody says so."""
        if self.crowd.wanted:
            self.ask()
        elif self.crowd.given.rate:
            self.idle.append(self)

    def ask(self) -> None:
        assert self.transport is not None
        self.number, self.began = self.crowd.next(), time.perf_counter()
        self.transport.write(self.crowd.requests[self.number])

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found or self.number is None:
            return
        lower = head.lower()
        start = lower.find(b"content-length:") + len(b"content-length:")
        if len(body) < int(lower[start:].split(b"\r\n", 1)[0]):
            return
        number, self.number, self.received = self.number, None, b""
        self.crowd.ended(number, head[9:12].decode(), time.perf_counter() - self.began, body)
        if b"connection: close" not in lower:
            self.rest()

    def connection_lost(self, _: Exception | None) -> None:
        if self.number is not None:
            self.crowd.ended(self.number, "lost", 0.0, b"")
        if self in self.idle:
            self.idle.remove(self)
        if not self.crowd.over.is_set():
            asyncio.get_running_loop().call_later(RECONNECT_SECONDS, lambda: connect(self.crowd, self.idle))


KEPT: set[asyncio.Task[Any]] = set()


def connect(crowd: Crowd, idle: deque[Client]) -> None:
    """Open a connection for one client."""
    if crowd.over.is_set():
        return
    loop = asyncio.get_running_loop()
    opening = loop.create_connection(lambda: Client(crowd, idle), crowd.given.host, crowd.given.port)
    task = loop.create_task(opening)
    KEPT.add(task)
    task.add_done_callback(lambda done: opened(done, crowd, idle))


def opened(task: asyncio.Task[Any], crowd: Crowd, idle: deque[Client]) -> None:
    KEPT.discard(task)
    if not task.cancelled() and task.exception() is not None:
        crowd.ends["no connection"] += 1
        if not crowd.over.is_set():
            asyncio.get_running_loop().call_later(RECONNECT_SECONDS, lambda: connect(crowd, idle))


async def pace(crowd: Crowd, idle: deque[Client]) -> None:
    """So many requests a second, however long their answers take; none is sent while all connections wait."""
    given, began = crowd.given, time.perf_counter()
    due = 0
    while (passed := time.perf_counter() - began) < given.seconds:
        while due < passed * given.rate:
            due += 1
            if idle:
                idle.popleft().ask()
            else:
                crowd.unsent += 1
        await asyncio.sleep(0.005)
    crowd.over.set()


async def measure(given: argparse.Namespace) -> dict[str, Any]:
    crowd, idle = Crowd(given), deque[Client]()
    began = time.perf_counter()
    for _ in range(given.clients):
        connect(crowd, idle)
    if given.rate:
        await pace(crowd, idle)
    else:
        await asyncio.wait_for(crowd.over.wait(), PATIENCE + given.requests)
    seconds = time.perf_counter() - began
    milliseconds = 1000 * np.array(crowd.seconds or [np.nan])
    quantiles = {name: float(np.quantile(milliseconds, share)) for name, share in QUANTILES.items()}
    return {
        "seconds": seconds,
        "ends": dict(crowd.ends),
        "sentences": crowd.ends["200"] * given.group,
        "different": crowd.different(),
        "unsent": crowd.unsent,
        "milliseconds": quantiles if crowd.seconds else None,
    }


QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "longest": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--requests", type=int, default=0, help="in all, each client asking as soon as it can")
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second instead, for --seconds")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--group", type=int, default=1, help="sentences of one request")
    parser.add_argument("--texts", type=Path, required=True, help="asked in turn, again and again")
    parser.add_argument("--expected", type=Path, help="their translations, to compare")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    print(json.dumps(run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
