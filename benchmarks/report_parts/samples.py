"""Translations to look at, chosen by rules: at even distances, and the best and worst by chrF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.evaluate.metrics import chrf_metric
from report_parts.held_out import HeldOut

SAMPLES, EXTREMES, DRAWN = 20, 5, 3


@dataclass(frozen=True)
class Sample:
    """A sentence of the test set, counted from 1, with what is right and what a model says."""

    line: int
    source: str
    references: tuple[str, ...]
    output: str
    chrf: float


@dataclass(frozen=True)
class Samples:
    """Translations by one model."""

    step: int
    """Every so many lines one was picked."""
    picked: list[Sample]
    best: list[Sample]
    worst: list[Sample]

    @property
    def rule(self) -> str:
        """How they were picked."""
        if self.step == 1:
            return f"The first {len(self.picked)} lines of the test set"
        return f"Every {ordinal(self.step)} line of the test set, {len(self.picked)} in all"

    def to_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "picked": self.picked, "best": self.best, "worst": self.worst}

    @property
    def drawn(self) -> list[Sample]:
        """Those of the picked whose attention is drawn: the middle ones of as many equal parts."""
        count = min(DRAWN, len(self.picked))
        return [self.picked[(2 * part + 1) * len(self.picked) // (2 * count)] for part in range(count)]


def choose_samples(held_out: HeldOut, outputs: Sequence[str]) -> Samples:
    """Samples of a model's translations; of equal chrF, the earlier line counts as better and as worse."""
    metric = chrf_metric()
    rows = zip(held_out.lines, zip(*held_out.right, strict=True), outputs, strict=True)
    every = [
        Sample(number, source, right, output, float(metric.sentence_score(output, list(right)).score))
        for number, (source, right, output) in enumerate(rows, start=1)
    ]
    step = max(1, len(every) // SAMPLES)
    picked = every[step - 1 :: step][:SAMPLES]
    best = sorted(every, key=lambda sample: (-sample.chrf, sample.line))[:EXTREMES]
    worst = sorted(every, key=lambda sample: (sample.chrf, sample.line))[:EXTREMES]
    return Samples(step, picked, best, worst)


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
