"""`regard calibrate`: how far a model's probabilities can be trusted, from translations with references."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from regard.atomic import write_file
from regard.commands.files import aligned_lines
from regard.errors import InputError, how_to_install
from regard.evaluate.metrics import chrf_metric
from regard.progress import task
from regard.search.confidence import (
    CALIBRATION,
    Bin,
    Calibration,
    calibration_error,
    fingerprint,
    fit_logistic,
    reliability,
)
from regard.search.options import SearchOptions
from regard.search.translator import Translator

FEWEST = 20


@dataclass(frozen=True)
class CalibrationReport:
    """A calibration, and how it does on the sentences that it was not fitted to."""

    folder: Path
    calibration: Calibration
    table: tuple[Bin, ...]
    held_out: int
    base_rate: float
    """The share of good translations among those held out."""

    def to_text(self) -> str:
        calibration = self.calibration
        rows = [
            f"  {each.lowest:.1f} to {each.highest:.1f}   {each.sentences:9,}   {each.confidence:10.2f}   "
            f"{each.good:10.2f}"
            for each in self.table
        ]
        return "\n".join(
            [
                f"Fitted to {calibration.sentences:,} translations, measured on {self.held_out:,} others. Good: "
                f"sentence chrF of at least {calibration.threshold:g}, which {self.base_rate:.0%} of those reach.",
                "",
                "  confidence   sentences   mean conf.   share good",
                *rows,
                "",
                f"Expected calibration error: {calibration.error:.3f}",
                f"Confidence = 1 / (1 + exp(-({calibration.slope:.3f} m {calibration.intercept:+.3f}))), m: mean "
                "log-probability of a token",
                f"Kept in {self.folder / CALIBRATION}; `regard translate --confidence` uses it",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        table = [asdict(each) for each in self.table]
        return {**asdict(self.calibration), "held_out": self.held_out, "base_rate": self.base_rate, "table": table}


def calibrate_model(
    folder: Path, source: Path, reference: Path, threshold: float, plot: Path | None, **search: Unpack[SearchOptions]
) -> CalibrationReport:
    """Fit a calibration to every other sentence, measure it on the rest, and keep it in the model folder."""
    sources, references = aligned_lines(source, reference)
    pairs = [(text, right) for text, right in zip(sources, references, strict=True) if text.strip() and right.strip()]
    if len(pairs) < FEWEST:
        raise InputError(f"{source}: has {len(pairs)} sentences with references; a calibration needs at least {FEWEST}")
    translator = Translator.load(folder)
    with task("translating", len(pairs)) as work:
        found = translator.translate_nbest([text for text, _ in pairs], 1, progress=work, **search)
    translations = [each[0] for each in found]
    features = [translation.mean_log_probability for translation in translations]
    metric = chrf_metric()
    good = [
        metric.sentence_score(translation.text, [right]).score >= threshold
        for translation, (_, right) in zip(translations, pairs, strict=True)
    ]
    slope, intercept = fit_logistic(features[::2], good[::2])
    fitted = Calibration(slope, intercept, threshold, len(features[::2]), 0.0, fingerprint(folder))
    table = reliability([fitted.confidence(feature) for feature in features[1::2]], good[1::2])
    calibration = Calibration(**{**asdict(fitted), "error": calibration_error(table)})
    calibration.save(folder)
    held_out = len(features[1::2])
    report = CalibrationReport(folder, calibration, tuple(table), held_out, sum(good[1::2]) / held_out)
    if plot is not None:
        write_file(plot, _picture(report))
    return report


def check_plot(plot: Path | None) -> None:
    """Refuse a picture that cannot be drawn, before the work is done."""
    if plot is None:
        return
    if plot.suffix.lower() != ".png":
        raise InputError(f"{plot}: --plot draws a PNG; name a file that ends in .png")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(f"--plot needs matplotlib: {how_to_install('plot')}") from None


def _picture(report: CalibrationReport) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 4.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    sizes = [20 + 400 * each.sentences / report.held_out for each in report.table]
    axes.scatter([each.confidence for each in report.table], [each.good for each in report.table], s=sizes, alpha=0.7)
    axes.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel=f"share with chrF ≥ {report.calibration.threshold:g}"
    )
    axes.set_title(f"expected calibration error {report.calibration.error:.3f}", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
