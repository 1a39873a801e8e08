"""Pictures by matplotlib, where it is installed: figures, heat maps, their look, and their files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from regard.atomic import write_file
from regard.errors import InputError, RegardError, how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

PICTURES = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150
INK, SOFT_INK, GRID = "#222222", "#666666", "#e6e6e6"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008)."""
LINES = ("-", "--", "-.", ":")
SHARES, SIGNED = "Blues", "RdBu_r"
"""Colour maps: from nothing to all, and from minus to plus."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, on white."""
    check_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def check_matplotlib() -> None:
    """Refuse to draw where nothing can be drawn, before other work is done."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RegardError(f"pictures need matplotlib: {how_to_install('plot')}") from None


def check_picture(path: Path, option: str = "--output") -> None:
    """Refuse a name that is none of a picture, or that cannot be written, before other work is done."""
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"{path}: end the name of {option} with {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    check_matplotlib()


def picture_bytes(figure: Figure, ending: str) -> bytes:
    """A figure as the file that an ending (.png, .svg, .pdf) asks for; the same figure gives the same bytes."""
    undated: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # said once already, by `families_for`
        figure.savefig(picture, format=ending.removeprefix("."), metadata=undated[ending])
    return picture.getvalue()


def save_picture(figure: Figure, path: Path) -> Path:
    """Write a figure in the form that the ending of the name asks for."""
    write_file(path, picture_bytes(figure, path.suffix.lower()))
    return path


@dataclass(frozen=True)
class Lettering:
    """How texts from elsewhere are set: in fonts that have their letters, and never read as formulae."""

    families: Sequence[str]
    size: float = 8.0

    def properties(self) -> dict[str, Any]:
        return {"fontfamily": list(self.families), "fontsize": self.size, "parse_math": False}


def title(axes: Axes, text: str, families: Sequence[str] = ("DejaVu Sans",)) -> None:
    """What a picture shows, at its upper left."""
    axes.set_title(text, loc="left", fontsize=10, color=INK, fontfamily=list(families), parse_math=False)


def heat_map(
    axes: Axes, values: NDArray[Any], rows: Sequence[str], columns: Sequence[str], lettering: Lettering, most: float = 1
) -> AxesImage:
    """Shares [Q, K] from 0 to `most` as squares, with a label at each row and, upright, at each column."""
    image = axes.imshow(values, cmap=SHARES, vmin=0, vmax=most, aspect="equal", interpolation="nearest")
    axes.set_xticks(range(len(columns)), [plain(text) for text in columns], rotation=90, **lettering.properties())
    axes.set_yticks(range(len(rows)), [plain(text) for text in rows], **lettering.properties())
    axes.tick_params(length=0, colors=INK)
    axes.set_xticks([place - 0.5 for place in range(1, len(columns))], minor=True)
    axes.set_yticks([place - 0.5 for place in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)
    return image


def dress(axes: Axes) -> None:
    """A plain look for curves: a light grid, no box."""
    axes.grid(visible=True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)


def plain(text: str) -> str:
    """A text of one line, with nothing in it that cannot be printed."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, cut with an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
