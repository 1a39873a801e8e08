"""Learning curves: the log of a run as a picture."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.atomic import write_file
from regard.train.log import LOG, read_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

CURVES = "curves.png"
_TRAINING, _VALIDATION, _BLEU, _RATE, _INK = "#8fb8de", "#1f5fa8", "#2a7f62", "#c8843c", "#333333"

Points = tuple[Sequence[int], Sequence[float]]
Panel = Callable[["Axes"], None]


def plot_curves(run: Path, choose_by: str = "loss") -> Path | None:
    """Draw `<run>/curves.png` from the run's log; the best validation by `choose_by` (`loss`, `bleu`) is marked.

    None where matplotlib is not installed (the extra `plot` brings it), or where the log has nothing to draw yet.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        return None
    panels = _panels(read_log(run / LOG), choose_by)
    if not panels:
        return None
    figure = Figure(
        figsize=(5.6 * len(panels) + 0.4, 4.2), dpi=150, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
    )
    FigureCanvasAgg(figure)
    for number, draw in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), number)
        draw(axes)
        _dress(axes)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_file(run / CURVES, picture.getvalue())
    return run / CURVES


def _panels(lines: list[dict[str, Any]], choose_by: str) -> list[Panel]:
    """What there is to draw: the loss, then BLEU and the learning rate; a panel without points is none."""
    training = _points(lines, "train", _likelihood)
    validation = _points(lines, "validation", lambda line: line.get("loss"))
    bleu = _points(lines, "validation", lambda line: line.get("bleu"))
    rate = _points(lines, "train", lambda line: line.get("learning_rate"))
    by_bleu = choose_by == "bleu" and bool(bleu[0])
    best = _best(bleu, max) if by_bleu else _best(validation, min)
    panels: list[Panel] = []
    if training[0] or validation[0]:
        panels.append(lambda axes: _draw_loss(axes, training, validation, best))
    if bleu[0]:
        panels.append(lambda axes: _draw_bleu(axes, bleu, rate, best))
    elif rate[0]:
        panels.append(lambda axes: _draw_rate(axes, rate, title="Learning rate"))
    return panels


def _draw_loss(axes: Axes, training: Points, validation: Points, best: int | None) -> None:
    _title(axes, "Loss")
    axes.set_ylabel("negative log-likelihood of a token")
    if training[0]:
        axes.plot(*training, color=_TRAINING, linewidth=1.6, label="training", marker=_marker(training))
    if validation[0]:
        axes.plot(*validation, color=_VALIDATION, linewidth=2.0, label="validation", marker="o", markersize=3.5)
    _mark_best(axes, validation, best, "{:.3f}", above=True)
    _legend(axes, axes.get_lines()[: bool(training[0]) + bool(validation[0])])


def _draw_bleu(axes: Axes, bleu: Points, rate: Points, best: int | None) -> None:
    _title(axes, "Validation BLEU" + (" and learning rate" if rate[0] else ""))
    axes.set_ylabel("BLEU", color=_BLEU)
    axes.plot(*bleu, color=_BLEU, linewidth=2.0, label="BLEU", marker="o", markersize=3.5, zorder=3)
    _mark_best(axes, bleu, best, "{:.1f}", above=False)
    axes.set_ylim(bottom=0)
    if not rate[0]:
        return
    right = axes.twinx()
    _draw_rate(right, rate)
    right.grid(visible=False)
    right.spines[["top", "left"]].set_visible(False)
    axes.set_zorder(right.get_zorder() + 1)  # the curve and its mark lie over the learning rate
    axes.patch.set_visible(False)
    _legend(axes, [axes.get_lines()[0], *right.get_lines()])


def _draw_rate(axes: Axes, rate: Points, title: str = "") -> None:
    _title(axes, title)
    axes.set_ylabel("learning rate", color=_RATE)
    axes.plot(*rate, color=_RATE, linewidth=1.4, linestyle="--", label="learning rate", marker=_marker(rate))
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)


def _mark_best(axes: Axes, points: Points, best: int | None, form: str, above: bool) -> None:
    """A ring around the best validation, with its step and value; above a falling curve, below a rising one."""
    if best is None or best not in points[0]:
        return
    value = points[1][list(points[0]).index(best)]
    axes.plot([best], [value], "o", markersize=11, markerfacecolor="none", markeredgewidth=1.6, color=_INK, zorder=4)
    late = best > 0.78 * axes.get_xlim()[1]
    axes.annotate(
        f"best checkpoint\nstep {best:,}: {form.format(value)}",
        (best, value),
        xytext=(8 if late else -8, 16 if above else -16),
        textcoords="offset points",
        ha="right" if late else "left",
        va="bottom" if above else "top",
        color=_INK,
        fontsize=9,
        bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5},
        zorder=5,
    )


def _title(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=_INK, pad=26)


def _legend(axes: Axes, lines: Sequence[Line2D]) -> None:
    """Between the title and the axes, where no curve can pass under it."""
    axes.legend(
        handles=lines, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(-0.01, 0.995), borderaxespad=0.2
    )


def _dress(axes: Axes) -> None:
    axes.set_xlabel("step")
    axes.set_xlim(left=0)
    axes.margins(y=0.08)
    axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
    axes.grid(visible=True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines["top"].set_visible(False)
    axes.spines["right"].set_visible(False)


def _marker(points: Points) -> str | None:
    """A line through one point cannot be seen."""
    return "o" if len(points[0]) == 1 else None


def _best(points: Points, choose: Callable[[Sequence[float]], float]) -> int | None:
    return points[0][list(points[1]).index(choose(points[1]))] if points[0] else None


def _likelihood(line: dict[str, Any]) -> Any:
    """The training loss without its smoothing, where the log has the perplexity: only that compares to validation."""
    perplexity = line.get("perplexity")
    return math.log(perplexity) if isinstance(perplexity, int | float) and perplexity > 0 else line.get("loss")


def _points(lines: list[dict[str, Any]], kind: str, figure: Callable[[dict[str, Any]], Any]) -> Points:
    """Steps and values of a figure; lines without it, or where it was not finite, are left out."""
    found = [(line["step"], figure(line)) for line in lines if line["kind"] == kind]
    good = [(step, float(value)) for step, value in found if isinstance(value, int | float)]
    return [step for step, _ in good], [value for _, value in good]
