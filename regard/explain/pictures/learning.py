"""Learning curves of several runs in one picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regard.errors import InputError
from regard.explain.canvas import LINES, SERIES, dress, new_figure, title
from regard.explain.pictures.picture import Picture
from regard.train.log import LOG, read_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

By = Literal["step", "seconds", "minutes"]
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Run:
    """What the log of a run says, as points over steps or seconds."""

    name: str
    training: Points
    validation: Points
    bleu: Points

    def to_json(self) -> dict[str, Any]:
        curves = {"training": self.training, "validation": self.validation, "bleu": self.bleu}
        return {"name": self.name} | {name: [list(point) for point in points] for name, points in curves.items()}


@dataclass(frozen=True)
class CurvesPicture(Picture):
    """The loss, and BLEU where it was measured, of runs."""

    runs: tuple[Run, ...]
    by: By = "step"

    def figure(self) -> Figure:
        measured = any(run.bleu for run in self.runs)
        figure = new_figure(10.5 if measured else 6.4, 4.4)
        panels = figure.subplots(1, 1 + measured, squeeze=False)[0]
        self.draw_loss(panels[0])
        if measured:
            self.draw_bleu(panels[1])
        add_legend(figure, panels[0])
        return figure

    def draw_loss(self, axes: Axes) -> None:
        """The loss of each run."""
        title(axes, "Loss: validation strong, training faint")
        for number, run in enumerate(self.runs):
            style = _style(number)
            if run.training:
                axes.plot(*zip(*run.training, strict=True), linewidth=1.0, alpha=0.45, color=style["color"])
            points = run.validation or run.training[-1:]
            if points:
                axes.plot(*zip(*points, strict=True), label=run.name, marker=".", linewidth=2.0, **style)
        axes.set(ylabel="negative log-likelihood of a token")
        seen = [value for run in self.runs for _, value in run.validation]
        seen += [value for run in self.runs for _, value in run.training[len(run.training) // 10 :]]  # steep before
        axes.set_ylim(*_heights(seen))
        self._across(axes)

    def draw_bleu(self, axes: Axes) -> None:
        """BLEU of each run that measured it."""
        title(axes, "BLEU of the validation sentences")
        for number, run in enumerate(self.runs):
            if run.bleu:
                axes.plot(*zip(*run.bleu, strict=True), label=run.name, marker=".", linewidth=2.0, **_style(number))
        axes.set(ylabel="BLEU", ylim=_heights([value for run in self.runs for _, value in run.bleu]))
        self._across(axes)

    def _across(self, axes: Axes) -> None:
        dress(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("step" if self.by == "step" else f"{self.by} of training")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")

    def to_text(self) -> str:
        lines = []
        for run in self.runs:
            parts = []
            if run.validation:
                at, loss = min(run.validation, key=lambda point: point[1])
                parts.append(f"best validation loss {loss:.3f} at {self.by} {at:,.0f}")
            if run.bleu:
                at, bleu = max(run.bleu, key=lambda point: point[1])
                parts.append(f"best BLEU {bleu:.1f} at {self.by} {at:,.0f}")
            lines.append(f"{run.name}: " + (", ".join(parts) or "no validation yet"))
        return "\n".join(lines)

    def to_json(self) -> Mapping[str, Any]:
        return {"by": self.by, "runs": [run.to_json() for run in self.runs]}


def add_legend(figure: Figure, axes: Axes) -> None:
    """The names of the runs that are drawn in `axes`, below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower left", frameon=False, ncols=min(4, len(labels)))
    for text in legend.get_texts():
        text.set_parse_math(False)


def curves_picture(folders: Sequence[Path], by: By = "step") -> CurvesPicture:
    """The curves of runs, from the log in each folder."""
    if not folders:
        raise InputError("there is no run to draw: name its folder")
    names = _names(folders)
    runs = [_run(name, read_log(folder / LOG), by) for name, folder in zip(names, folders, strict=True)]
    empty = next(
        (folder for folder, run in zip(folders, runs, strict=True) if not (run.training or run.validation)), None
    )
    if empty is not None:
        raise InputError(f"{empty / LOG}: has nothing to draw yet; wait until the run has made some steps")
    return CurvesPicture(tuple(runs), by)


def _run(name: str, lines: Sequence[Mapping[str, Any]], by: By) -> Run:
    def points(kind: str, figure: Callable[[Mapping[str, Any]], Any]) -> Points:
        found = [(_place(line, by), _number(figure(line))) for line in lines if line["kind"] == kind]
        return [(at, value) for at, value in found if at is not None and value is not None]

    return Run(
        name,
        points("train", _likelihood),
        points("validation", lambda line: line.get("loss")),
        points("validation", lambda line: line.get("bleu")),
    )


def _heights(values: Sequence[float]) -> tuple[float | None, float | None]:
    """From a little below the lowest, though not below 0, to a little above the highest: runs differ by little."""
    if not values:
        return None, None
    room = 0.08 * (max(values) - min(values)) or 0.5
    return max(0.0, min(values) - room), max(values) + room


def _place(line: Mapping[str, Any], by: By) -> float | None:
    place = _number(line.get("seconds" if by == "minutes" else by))
    return place / 60 if by == "minutes" and place is not None else place


def _likelihood(line: Mapping[str, Any]) -> Any:
    """The training loss without its smoothing, where the log has the perplexity: only that compares to validation."""
    perplexity = _number(line.get("perplexity"))
    return math.log(perplexity) if perplexity is not None and perplexity > 0 else line.get("loss")


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else None


def _names(folders: Sequence[Path]) -> list[str]:
    """The last parts of the folders' names, as many as tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(each[-count:]) for each in parts]
        if len(set(names)) == len(set(parts)):
            break
    return names


def _style(number: int) -> dict[str, Any]:
    return {"color": SERIES[number % len(SERIES)], "linestyle": LINES[number // len(SERIES) % len(LINES)]}
