"""Figures of the service for Prometheus; no label can take more values than the server itself knows of."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from regard.serve.jobs import Batch, Pair, Statistics

OTHER = "other"
METHODS = ("GET", "POST", "HEAD", "OPTIONS")
STATUSES = (200, 204, 304, 400, 403, 404, 405, 408, 413, 415, 421, 429, 431, 499, 500, 503)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """What is counted, and the page that shows it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "regard_requests", "Requests answered.", ("route", "method", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "regard_request_seconds", "Time from request to answer.", ("route",), buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self.in_flight = Gauge("regard_requests_in_flight", "Requests under way.", registry=self.registry)
        self.characters = Counter("regard_characters", "Characters taken on.", ("pair",), registry=self.registry)
        self._characters: dict[str, Counter] = {}
        self._kept: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._kept_of_pairs: dict[Pair, tuple[Histogram, Counter, Counter, Counter]] = {}
        self._queue = {
            name: Gauge(f"regard_queue_{name}", meaning, registry=self.registry)
            for name, meaning in (
                ("jobs", "Jobs that wait or are under way."),
                ("sentences", "Sentences that wait or are under way."),
                ("waiting", "Sentences that nobody has begun."),
                ("explanations", "Explanations that wait or are under way."),
            )
        }
        self.batches = Histogram(
            "regard_batch_sentences", "Sentences searched side by side when some of them ended.", ("pair",),
            buckets=SENTENCES, registry=self.registry,
        )  # fmt: skip
        self.sentences = Counter("regard_sentences", "Sentences translated.", ("pair",), registry=self.registry)
        self.tokens = Counter("regard_tokens", "Tokens read and written.", ("pair", "side"), registry=self.registry)

    def watch_queue(self, statistics: Callable[[], Statistics]) -> None:
        """Take the length of the queue from the pool whenever somebody looks."""
        for name, gauge in self._queue.items():
            gauge.set_function(lambda name=name: float(getattr(statistics(), name)))  # type: ignore[misc]

    def add_batch(self, batch: Batch) -> None:
        """Count sentences that were translated; called from the thread that did it."""
        together, sentences, source_tokens, target_tokens = self._of_batch(batch.pair)
        together.observe(batch.together)
        sentences.inc(batch.sentences)
        source_tokens.inc(batch.source_tokens)
        target_tokens.inc(batch.target_tokens)

    def _of_batch(self, pair: Pair) -> tuple[Histogram, Counter, Counter, Counter]:
        """Where batches of a pair are counted; kept as those of requests are."""
        if pair not in self._kept_of_pairs:
            name = str(pair)
            source, target = (self.tokens.labels(name, side) for side in ("source", "target"))
            self._kept_of_pairs[pair] = self.batches.labels(name), self.sentences.labels(name), source, target
        return self._kept_of_pairs[pair]

    def add_characters(self, pair: str, count: int) -> None:
        """Count characters that were taken on."""
        if pair not in self._characters:
            self._characters[pair] = self.characters.labels(pair)
        self._characters[pair].inc(count)

    def add_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        counted, timed = self._of_request(route, method if method in METHODS else OTHER, status)
        counted.inc()
        timed.observe(seconds)

    def _of_request(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        """Where such a request is counted; kept, since to find it by its labels takes as long as all else."""
        key = (route, method, status if status in STATUSES else 0)
        if key not in self._kept:
            label = str(status) if status in STATUSES else OTHER
            self._kept[key] = self.requests.labels(route, method, label), self.seconds.labels(route)
        return self._kept[key]

    def page(self) -> tuple[bytes, str]:
        """The figures as Prometheus reads them, and the type of that text."""
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4
