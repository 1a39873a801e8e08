"""Bootstrap resampling: how far a score, or the difference of two, would move on another test set of its kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import CorpusError
from regard.evaluate.metrics import Measurement

SAMPLES, SEED = 1000, 12345


@dataclass(frozen=True)
class Interval:
    """The middle 95 % of resampled values."""

    low: float
    high: float


@dataclass(frozen=True)
class PairedResult:
    """Two systems on the same sentences, by one metric."""

    name: str
    value: float
    other_value: float
    difference_interval: Interval
    better: float
    """The share of the samples on which the first system scores higher; ties count half."""
    p_value: float
    """How often chance alone would make a difference as large as this, in either direction."""
    signature: str

    @property
    def difference(self) -> float:
        return self.value - self.other_value


def confidence_interval(measurement: Measurement, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """The 95 % interval of a score, from samples of its sentences drawn with replacement."""
    return _interval(_resample(measurement, samples, seed))


def paired_bootstrap(
    measurement: Measurement, other: Measurement, samples: int = SAMPLES, seed: int = SEED
) -> PairedResult:
    """Compare two systems on the same resampled sentences (Koehn, 2004).

    The p-value is two-sided: the share of samples, and of the test set itself, whose difference d* strays from the
    samples' mean by at least the difference d that was measured, p = (1 + #{|d* - mean(d*)| >= |d|}) / (1 + samples).
    """
    if len(measurement) != len(other):
        raise CorpusError(
            f"one system has {len(measurement)} sentences and the other {len(other)}: "
            "only translations of the same sentences can be compared"
        )
    score, other_score = measurement.score, other.score
    differences = _resample(measurement, samples, seed) - _resample(other, samples, seed)
    strays = np.abs(differences - differences.mean()) >= abs(score.value - other_score.value)
    return PairedResult(
        name=score.name,
        value=score.value,
        other_value=other_score.value,
        difference_interval=_interval(differences),
        better=float((differences > 0).mean() + (differences == 0).mean() / 2),
        p_value=(1 + int(strays.sum())) / (1 + samples),
        signature=score.signature,
    )


def _resample(measurement: Measurement, samples: int, seed: int) -> NDArray[np.float64]:
    """The score on each sample; the samples depend on the seed and on the number of sentences alone."""
    generator = np.random.default_rng(seed)
    size = len(measurement)
    values = np.empty(samples)
    for sample in range(samples):
        drawn = generator.integers(0, size, size)
        values[sample] = measurement.value(np.bincount(drawn, minlength=size))
    return values


def _interval(values: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(float(low), float(high))
