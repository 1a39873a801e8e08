"""Speed against one size at a time, as panels side by side: what the benchmarks of growth draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Panel:
    """One size that grows: its label, and for each line its name and (size, speed)."""

    label: str
    lines: Mapping[str, Sequence[tuple[int, float]]]

    @property
    def sizes(self) -> list[int]:
        return sorted({size for points in self.lines.values() for size, _ in points})


def draw_panels(panels: Sequence[Panel], path: Path) -> None:
    """Write the picture; sizes are on a logarithmic scale, speeds begin at 0."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, places = pyplot.subplots(
        1, len(panels), figsize=(3.3 * len(panels), 3.2), layout="constrained", squeeze=False
    )
    for place, panel in zip(places[0], panels, strict=True):
        for name, points in panel.lines.items():
            place.plot([size for size, _ in points], [speed for _, speed in points], marker="o", label=name)
        place.set_xscale("log", base=2)
        place.set_xticks(panel.sizes, [_short(size) for size in panel.sizes])
        place.minorticks_off()
        place.set_ylim(0, 1.1 * max(speed for points in panel.lines.values() for _, speed in points))
        place.set_xlabel(panel.label)
        place.yaxis.set_major_formatter("{x:,.0f}")
        place.grid(alpha=0.3)
    places[0][0].set_ylabel("target tokens a second")
    if len(panels[0].lines) > 1:
        places[0][0].legend(frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _short(size: int) -> str:
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= 10 * unit or (size >= unit and size % unit == 0):
            return f"{size // unit}{letter}"
    return str(size)
