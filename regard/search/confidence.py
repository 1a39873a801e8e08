"""Calibrated confidence: from what a model thinks of its translation to the chance that it is good."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.atomic import write_file
from regard.errors import InputError, ModelFolderError
from regard.models.folder import WEIGHTS

CALIBRATION = "calibration.json"
STEPS, FLATTEST = 100, 1e-6


@dataclass(frozen=True)
class Calibration:
    """The chance that a translation is good: 1 / (1 + exp(-(slope · m + intercept))).

    m is the mean log-probability of the translation's tokens; the slope is never negative, so that what the model finds
    more likely never gets less confidence. Good is a translation whose sentence chrF is at least `threshold`.
    """

    slope: float
    intercept: float
    threshold: float
    sentences: int
    """How many it was fitted to."""
    error: float
    """Expected calibration error, on as many others."""
    weights: str
    """The SHA-256 of the weights that it was made for."""

    def confidence(self, mean_log_probability: float) -> float:
        """A number from 0 to 1."""
        return logistic(self.slope * mean_log_probability + self.intercept)

    def save(self, folder: Path) -> None:
        """Write `calibration.json` beside the weights."""
        write_file(folder / CALIBRATION, (json.dumps({"version": 1, **asdict(self)}, indent=2) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> Calibration | None:
        """Read a model folder's calibration; None where there is none, or where it is that of other weights."""
        path = folder / CALIBRATION
        if not path.exists():
            return None
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document.pop("version") != 1:
                raise ValueError("its version is not 1")
            numbers = {name: float(document[name]) for name in ("slope", "intercept", "threshold", "error")}
            calibration = cls(sentences=int(document["sentences"]), weights=str(document["weights"]), **numbers)
            if not all(map(math.isfinite, numbers.values())) or calibration.slope < 0:
                raise ValueError("its numbers make no calibration")
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelFolderError(
                f"{path}: damaged ({error}); remove it, or make it anew with `regard calibrate`"
            ) from None
        if calibration.weights != fingerprint(folder):
            warnings.warn(
                f"{path} was made for other weights and is not used; make it anew with `regard calibrate`", stacklevel=2
            )
            return None
        return calibration


def fingerprint(folder: Path) -> str:
    """What tells a folder's weights from others."""
    with (folder / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def logistic(value: float) -> float:
    """1 / (1 + exp(-value))."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    return math.exp(value) / (1.0 + math.exp(value))


def fit_logistic(features: Sequence[float], good: Sequence[bool]) -> tuple[float, float]:
    """Slope and intercept of the likeliest logistic curve with a slope of at least 0, by Newton's method.

    Each kind counts as one sentence more (Platt, 1999), so that a curve exists where they can be told apart exactly.
    """
    positives = sum(good)
    if not features or positives in (0, len(good)):
        which = "all" if positives else "none"
        raise InputError(f"{which} of the {len(good)} translations to fit to are good; choose another --threshold")
    high, low = (positives + 1) / (positives + 2), 1 / (len(good) - positives + 2)
    targets = [high if each else low for each in good]
    centre = math.fsum(features) / len(features)
    moved = [feature - centre for feature in features]
    slope, intercept = 0.0, math.log(positives / (len(good) - positives))
    for _ in range(STEPS):
        chances = [logistic(slope * feature + intercept) for feature in moved]
        wrong = [chance - target for chance, target in zip(chances, targets, strict=True)]
        steep = [max(chance * (1 - chance), 1e-9) for chance in chances]
        gradient = (math.fsum(w * x for w, x in zip(wrong, moved, strict=True)), math.fsum(wrong))
        aa = math.fsum(s * x * x for s, x in zip(steep, moved, strict=True)) + FLATTEST
        ab = math.fsum(s * x for s, x in zip(steep, moved, strict=True))
        bb = math.fsum(steep)
        determinant = aa * bb - ab * ab
        step = (
            (bb * gradient[0] - ab * gradient[1]) / determinant,
            (aa * gradient[1] - ab * gradient[0]) / determinant,
        )
        slope, intercept = slope - step[0], intercept - step[1]
        if max(map(abs, step)) < 1e-9:
            break
    if slope < 0 or not math.isfinite(slope + intercept):
        share = math.fsum(targets) / len(targets)
        return 0.0, math.log(share / (1 - share))
    return slope, intercept - slope * centre


@dataclass(frozen=True)
class Bin:
    """Translations of like confidence."""

    lowest: float
    highest: float
    sentences: int
    confidence: float
    """Their mean confidence."""
    good: float
    """The share of them that are good."""


def reliability(confidences: Sequence[float], good: Sequence[bool], bins: int = 10) -> list[Bin]:
    """Translations by confidence in equal steps; steps without any are left out."""
    table = []
    for index in range(bins):
        lowest, highest = index / bins, (index + 1) / bins
        inside = [place for place, value in enumerate(confidences) if min(int(value * bins), bins - 1) == index]
        if inside:
            mean = math.fsum(confidences[place] for place in inside) / len(inside)
            table.append(Bin(lowest, highest, len(inside), mean, sum(good[place] for place in inside) / len(inside)))
    return table


def calibration_error(table: Sequence[Bin]) -> float:
    """Expected calibration error: how far confidence and the share of good ones are apart, over all sentences."""
    total = sum(each.sentences for each in table)
    return math.fsum(each.sentences * abs(each.confidence - each.good) for each in table) / total if total else 0.0
