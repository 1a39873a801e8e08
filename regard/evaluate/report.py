"""An evaluation: the scores of a system's translations, for people and for programs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from regard.evaluate.bootstrap import Interval, PairedResult
from regard.evaluate.metrics import MetricScore


@dataclass(frozen=True)
class LengthBucket:
    """The sentences whose source has a length from `shortest` to `longest` (None: and above)."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: float
    chrf: float

    @property
    def label(self) -> str:
        return f"{self.shortest}-{self.longest}" if self.longest is not None else f"{self.shortest}+"


@dataclass(frozen=True)
class Comparison:
    """This system against another one's translations of the same sentences."""

    name: str
    results: tuple[PairedResult, ...]
    exact_match: float


@dataclass(frozen=True)
class Bootstrap:
    """How the intervals and p-values were drawn."""

    samples: int
    seed: int
    bleu: Interval
    chrf: Interval


@dataclass(frozen=True)
class Evaluation:
    """What was measured; `to_text` says it to people, `to_json` to programs."""

    hypotheses: tuple[str, ...]
    bleu: MetricScore
    chrf: MetricScore
    exact_match: float
    """In per cent."""
    bootstrap: Bootstrap | None = None
    by_length: tuple[LengthBucket, ...] = ()
    length_unit: str = "words"
    comparison: Comparison | None = None
    seconds: float | None = None
    """What the translation took, without the loading of the model."""
    remarks: tuple[str, ...] = ()

    @property
    def sentences(self) -> int:
        return len(self.hypotheses)

    @property
    def sentences_per_second(self) -> float | None:
        return self.sentences / self.seconds if self.seconds else None

    def to_json(self) -> dict[str, Any]:
        """All figures, the main ones as plain numbers at the top: `bleu`, `chrf`, `exact_match`."""
        figures: dict[str, Any] = {
            "sentences": self.sentences,
            "bleu": self.bleu.value,
            "bleu_signature": self.bleu.signature,
            "bleu_detail": self.bleu.detail,
            "chrf": self.chrf.value,
            "chrf_name": self.chrf.name,
            "chrf_signature": self.chrf.signature,
            "exact_match": self.exact_match,
            "bootstrap": dataclasses.asdict(self.bootstrap) if self.bootstrap else None,
            "by_length": [{"label": bucket.label, **dataclasses.asdict(bucket)} for bucket in self.by_length],
            "length_unit": self.length_unit,
            "against": _comparison_figures(self.comparison) if self.comparison else None,
            "remarks": list(self.remarks),
        }
        if self.seconds is not None:
            figures |= {"seconds": self.seconds, "sentences_per_second": self.sentences_per_second}
        return figures

    def to_text(self) -> str:
        """The same as lines of at most 80 characters (signatures may be longer)."""
        lines = [f"{self.sentences:,} sentence{'s' * (self.sentences != 1)}", ""]
        lines += _score_lines(self.bleu, self.bootstrap.bleu if self.bootstrap else None)
        lines += _score_lines(self.chrf, self.bootstrap.chrf if self.bootstrap else None)
        lines.append(f"{'exact':8}{self.exact_match:6.2f} %")
        if self.seconds is not None and self.sentences_per_second is not None:
            lines.append(f"{'speed':8}{self.sentences_per_second:6.1f} sentences/s ({self.seconds:.1f} s in all)")
        lines += self._length_lines()
        lines += self._comparison_lines()
        lines += [line for remark in self.remarks for line in ("", f"Note: {remark}")]
        return "\n".join(lines)

    def _length_lines(self) -> list[str]:
        if not self.by_length:
            return []
        lines = ["", f"By length of the source ({self.length_unit})"]
        lines.append(f"  {'length':>8}{'sentences':>12}{'BLEU':>9}{self.chrf.name:>9}")
        for bucket in self.by_length:
            lines.append(f"  {bucket.label:>8}{bucket.sentences:>12,}{bucket.bleu:>9.2f}{bucket.chrf:>9.2f}")
        return lines

    def _comparison_lines(self) -> list[str]:
        if not self.comparison or not self.bootstrap:
            return []
        drawn = f"paired bootstrap, {self.bootstrap.samples:,} samples, seed {self.bootstrap.seed}"
        lines = ["", f"Against {self.comparison.name} ({drawn})"]
        lines.append(f"  {'':8}{'this':>8}{'other':>8}{'change':>8}  {'95 % of samples':17}{'p':>6}")
        for result in self.comparison.results:
            interval = f"{result.difference_interval.low:+.2f} to {result.difference_interval.high:+.2f}"
            values = f"{result.value:>8.2f}{result.other_value:>8.2f}{result.difference:>+8.2f}"
            lines.append(f"  {result.name:8}{values}  {interval:17}{result.p_value:>6.3f}  {_verdict(result)}")
        return lines


def _score_lines(score: MetricScore, interval: Interval | None) -> list[str]:
    margin = f"   95 %: {interval.low:.2f} to {interval.high:.2f}" if interval else ""
    lines = [f"{score.name:8}{score.value:6.2f}{margin}"]
    if score.detail:
        precisions = "/".join(f"{precision:.1f}" for precision in score.detail["precisions"])
        ratio = score.detail["hypothesis_tokens"] / max(1, score.detail["reference_tokens"])
        penalty = score.detail["brevity_penalty"]
        lines.append(f"    precisions {precisions}, brevity penalty {penalty:.3f}, length ratio {ratio:.3f}")
    return [*lines, f"    {score.signature}", ""]


def _verdict(result: PairedResult) -> str:
    if result.p_value >= 0.05:
        return "no clear difference"
    return "better" if result.difference > 0 else "worse"


def _comparison_figures(comparison: Comparison) -> dict[str, Any]:
    results = [{**dataclasses.asdict(result), "difference": result.difference} for result in comparison.results]
    return {"name": comparison.name, "exact_match": comparison.exact_match, "results": results}
