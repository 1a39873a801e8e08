"""Learning rates as a picture: the paper's warm-up for several widths, and the schedules of recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.config import Config, TrainConfig
from regard.errors import InputError
from regard.explain.canvas import LINES, SERIES, dress, new_figure, title
from regard.explain.pictures.picture import Picture
from regard.train.schedule import learning_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTES = ("512:4000", "512:8000", "256:4000")
"""Width and warm-up of the curves that notes on the paper show."""
STEPS, MOST_STEPS, POINTS = 20_000, 10_000_000, 2_000


@dataclass(frozen=True)
class RateCurve:
    """A schedule, for a model of a width."""

    label: str
    train: TrainConfig
    width: int

    def rates(self, steps: Sequence[int]) -> list[float]:
        return [learning_rate(step, self.train, self.width) for step in steps]


@dataclass(frozen=True)
class SchedulePicture(Picture):
    """Learning rates over steps."""

    curves: tuple[RateCurve, ...]
    last_step: int

    @property
    def steps(self) -> list[int]:
        """The steps that are drawn: all, or evenly spread ones with the peaks among them."""
        stride = max(1, self.last_step // POINTS)
        peaks = {max(curve.train.warmup_steps, 1) for curve in self.curves}
        return sorted(
            {1, *range(stride, self.last_step + 1, stride), *(peak for peak in peaks if peak <= self.last_step)}
        )

    def figure(self) -> Figure:
        figure = new_figure(7.6, 4.2)
        axes = figure.subplots()
        steps = self.steps
        for number, curve in enumerate(self.curves):
            style: dict[str, Any] = {
                "color": SERIES[number % len(SERIES)],
                "linestyle": LINES[number % len(LINES)],
                "linewidth": 2.0,
            }
            axes.plot(steps, curve.rates(steps), label=curve.label, **style)
        dress(axes)
        title(axes, "The learning rate rises while the model warms up, then falls")
        axes.set(xlabel="step", ylabel="learning rate", xlim=(0, self.last_step), ylim=(0, None))
        axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)
        for text in axes.legend(frameon=False).get_texts():
            text.set_parse_math(False)
        return figure

    def to_text(self) -> str:
        steps = self.steps
        lines = []
        for curve in self.curves:
            rates = curve.rates(steps)
            peak = max(rates)
            lines.append(
                f"{curve.label}: peak {peak:.3g} at step {steps[rates.index(peak)]:,}, {rates[-1]:.3g} at the end"
            )
        return "\n".join(lines)

    def to_json(self) -> Mapping[str, Any]:
        steps = self.steps
        return {"steps": steps, "curves": [{"label": each.label, "rates": each.rates(steps)} for each in self.curves]}


def schedule_picture(
    curves: Sequence[str] = NOTES, recipes: Mapping[str, Config] | None = None, steps: int | None = None
) -> SchedulePicture:
    """The paper's schedule for each `WIDTH:WARMUP` of `curves`, and those of recipes by name, up to a step."""
    made = [_paper_curve(text) for text in curves]
    made += [
        RateCurve(f"{name}: {config.train.schedule}", config.train, config.model.width)
        for name, config in (recipes or {}).items()
    ]
    if not made:
        raise InputError("there is no schedule to draw: name a curve, such as 512:4000, or a recipe")
    longest = max((config.train.max_steps for config in (recipes or {}).values()), default=STEPS)
    last = longest if steps is None else steps
    if not 2 <= last <= MOST_STEPS:
        raise InputError(f"{last:,} steps cannot be drawn: take 2 to {MOST_STEPS:,}")
    return SchedulePicture(tuple(made), last)


def _paper_curve(text: str) -> RateCurve:
    parts = text.split(":")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and 0 < int(part) <= MOST_STEPS for part in parts):
        raise InputError(f"`{text}` is no curve: give the width and the steps of warm-up, such as 512:4000")
    width, warmup = map(int, parts)
    train = TrainConfig(schedule="paper", learning_rate=1.0, warmup_steps=warmup)
    return RateCurve(f"width {width}, warm-up {warmup:,}", train, width)
