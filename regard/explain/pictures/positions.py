"""Positions as a picture: the vector of each, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.explain.canvas import SHARES, SIGNED, new_figure, title
from regard.explain.pictures.picture import Picture
from regard.models.folder import LoadedModel
from regard.nn.positions import concatenated_sinusoids, sinusoids

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = {"sinusoidal": sinusoids, "concatenated": concatenated_sinusoids}
MOST = 2048


@dataclass(frozen=True)
class PositionsPicture(Picture):
    """The vectors of the first N positions, a row each."""

    table: NDArray[np.float64]
    """[N, D]"""
    kind: str
    name: str = ""
    """Of the model that has learned them."""

    @property
    def likeness(self) -> NDArray[np.float64]:
        """The cosine of the angle between each two positions [N, N]."""
        lengths = np.linalg.norm(self.table, axis=1, keepdims=True)
        unit = self.table / np.where(lengths > 0, lengths, 1)
        return np.asarray(unit @ unit.T, dtype=np.float64)

    def figure(self) -> Figure:
        figure = new_figure(10.5, 4.4)
        left, right = figure.subplots(1, 2, width_ratios=[1.75, 1])
        most = float(np.abs(self.table).max()) or 1.0
        image = left.imshow(self.table, cmap=SIGNED, vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
        title(left, f"{self._what().capitalize()}: each row is the vector of a position")
        left.set(xlabel="element of the vector", ylabel="position")
        figure.colorbar(image, ax=left, pad=0.02)
        image = right.imshow(
            self.likeness, cmap=SHARES, vmin=float(self.likeness.min()), vmax=1, interpolation="nearest"
        )
        title(right, "How alike two positions are (cosine)")
        right.set(xlabel="position", ylabel="position")
        figure.colorbar(image, ax=right, pad=0.02, shrink=0.85)
        return figure

    def to_text(self) -> str:
        positions, width = self.table.shape
        beside = np.diagonal(self.likeness, 1)
        lines = [f"{positions} positions of {width} elements, {self._what()}"]
        if len(beside):
            lines.append(
                f"neighbours are alike by {beside.mean():.3f} (cosine, on average), first and last by "
                f"{self.likeness[0, -1]:.3f}"
            )
        return "\n".join(lines)

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "model": self.name, "positions": self.table.tolist()}

    def _what(self) -> str:
        return f"{self.kind} positions" + (f" of {self.name}" if self.name else "")


def positions_picture(length: int = 50, width: int = 128, kind: str = "sinusoidal") -> PositionsPicture:
    """The waves of the paper, or (`concatenated`) with all sines before all cosines."""
    if not 1 <= length <= MOST or not 2 <= width <= MOST or width % 2:
        raise InputError(f"{length} positions of width {width}: take 1 to {MOST}, and an even width of 2 to {MOST}")
    return PositionsPicture(TABLES[kind](length, width).numpy(), kind)


def model_positions_picture(loaded: LoadedModel, length: int = 50, name: str = "") -> PositionsPicture:
    """The positions that a model adds to its source, learned or not."""
    if not 1 <= length <= MOST:
        raise InputError(f"{length} positions: take 1 to {MOST}")
    kind = loaded.config.model.positions
    table = loaded.model.source_embedding.positions.table(length)
    if table is None:
        words = "turns queries and keys instead" if kind == "rotary" else "has none"
        raise InputError(f"{name or 'the model'} adds no positions to its words: it {words} (model.positions = {kind})")
    return PositionsPicture(table[:length].detach().double().cpu().numpy(), kind, name)
