"""What was measured, as tables and as figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.table import Table


@dataclass
class Rounds:
    """The rounds of one number of clients, or of the translator without a server."""

    sentences_per_second: list[float] = field(default_factory=list)
    milliseconds: list[dict[str, float]] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    different: int = 0

    @property
    def median(self) -> float:
        return median(self.sentences_per_second)

    def quantile(self, name: str) -> float:
        return median(each[name] for each in self.milliseconds)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "median_sentences_per_second": self.median}


@dataclass
class Load:
    """Throughput and waiting, by the number of clients."""

    model: str
    offline: Rounds = field(default_factory=Rounds)
    clients: dict[int, Rounds] = field(default_factory=dict)

    def share(self, clients: int) -> float:
        """Of the translator's own throughput."""
        return self.clients[clients].median / self.offline.median

    def to_json(self) -> dict[str, Any]:
        served = {
            str(count): {**rounds.to_json(), "share_of_offline": self.share(count)}
            for count, rounds in self.clients.items()
        }
        return {"model": self.model, "offline": self.offline.to_json(), "clients": served}

    def table(self) -> Table:
        table = Table(title=f"{self.model}: one sentence a request", title_justify="left")
        table.add_column("clients", no_wrap=True)
        for heading in ("sent/s", "lowest - highest", "of offline", "p50 ms", "p90 ms", "p99 ms", "MB"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_row(
            "offline, one call", *_speeds(self.offline), "", "", "", "", f"{max(self.offline.memory_mb):,.0f}"
        )
        for count, rounds in self.clients.items():
            waiting = [f"{rounds.quantile(name):,.1f}" for name in ("p50", "p90", "p99")]
            share = f"{100 * self.share(count):.0f} %"
            table.add_row(str(count), *_speeds(rounds), share, *waiting, f"{max(rounds.memory_mb):,.0f}")
        different = sum(rounds.different for rounds in self.clients.values())
        table.caption = f"translations that differ from those without a server: {different:,}"
        table.caption_justify = "left"
        return table


def _speeds(rounds: Rounds) -> tuple[str, str]:
    speeds = rounds.sentences_per_second
    return f"{rounds.median:,.0f}", f"{min(speeds):,.0f} - {max(speeds):,.0f}"


@dataclass(frozen=True)
class Soak:
    """The server's memory after so many requests, again and again."""

    requests: list[int]
    memory_mb: list[float]
    seconds: float

    @property
    def slope(self) -> float:
        """MB for each 100,000 requests, by least squares over the second half, when all that is made once is made."""
        half = len(self.requests) // 2
        return 100_000 * slope(self.requests[half:], self.memory_mb[half:])

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "mb_per_100000_requests": self.slope}

    def table(self) -> Table:
        table = Table(title="memory as requests go by", title_justify="left", min_width=76)
        table.add_column("requests", justify="right")
        table.add_column("MB", justify="right")
        every = max(1, len(self.requests) // 20)
        for requests, memory in list(zip(self.requests, self.memory_mb, strict=True))[every - 1 :: every]:
            table.add_row(f"{requests:,}", f"{memory:,.1f}")
        table.caption = (
            f"{self.requests[-1]:,} requests in {self.seconds:,.0f} s; over the second half memory changes by "
            f"{self.slope:+.2f} MB for each 100,000 requests"
        )
        table.caption_justify = "left"
        return table


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line through points, by least squares; 0 for fewer than two."""
    if len(xs) < 2:
        return 0.0
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


@dataclass(frozen=True)
class Overload:
    """A crowd that asks for many times what there is, and one client that asks for little."""

    capacity: float
    times: float
    crowd: dict[str, Any]
    modest: dict[str, Any]
    memory_mb: list[float]
    after: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    def table(self) -> Table:
        asked = f"{self.times:g} times the {self.capacity:,.0f} sentences/s that it can do"
        table = Table(title=f"{asked}, for {self.crowd['seconds']:.0f} s", title_justify="left")
        table.add_column("")
        for heading in ("200", "503", "other", "sent/s", "p50 ms", "p99 ms", "longest ms"):
            table.add_column(heading, justify="right", no_wrap=True)
        rows = {"the crowd": self.crowd, "one modest client": self.modest, "the same, afterwards": self.after}
        for name, found in rows.items():
            ends = found["ends"]
            other = sum(count for status, count in ends.items() if status not in ("200", "503"))
            waits = found["milliseconds"] or {}
            cells = [f"{waits[key]:,.0f}" if waits else "" for key in ("p50", "p99", "longest")]
            speed = f"{found['sentences'] / found['seconds']:,.0f}"
            table.add_row(name, f"{ends.get('200', 0):,}", f"{ends.get('503', 0):,}", f"{other:,}", speed, *cells)
        table.caption = (
            f"memory before, at most, after: {self.memory_mb[0]:,.0f}, {max(self.memory_mb):,.0f}, "
            f"{self.memory_mb[-1]:,.0f} MB; requests that found no free connection: {self.crowd['unsent']:,}"
        )
        table.caption_justify = "left"
        return table
