"""Rates: how many requests a minute somebody has left, for as many as fit into a table of bounded size."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_CLIENTS = 10_000
MINUTE = 60.0


@dataclass
class _Bucket:
    tokens: float
    filled: float


class Rates:
    """A bucket of requests for each client, which fills up again within a minute (token bucket)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most_clients: int = MOST_CLIENTS) -> None:
        self._clock, self._most = clock, most_clients
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, client: str, rate: int, cost: int = 1) -> float:
        """Take requests from a client's bucket; the seconds until there will be enough, 0 if they were taken.

        A cost beyond a whole bucket counts as a whole one.
        """
        now = self._clock()
        bucket = self._buckets.pop(client, None) or _Bucket(rate, now)
        self._buckets[client] = bucket  # at the end: the one that was used last
        while len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        bucket.tokens = min(rate, bucket.tokens + (now - bucket.filled) * rate / MINUTE)
        bucket.filled = now
        needed = min(cost, rate)
        if bucket.tokens >= needed:
            bucket.tokens -= needed
            return 0.0
        return (needed - bucket.tokens) * MINUTE / rate


def client_of(address: str) -> str:
    """What counts as one client: an address, or the network of 64 bits that one subscriber gets of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
