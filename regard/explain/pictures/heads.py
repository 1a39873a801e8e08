"""The attention of a sentence pair as a picture: every layer and head of one kind, between whole words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from regard.explain.canvas import Lettering, heat_map, new_figure, plain, shortened, title
from regard.explain.capture import AttentionMaps
from regard.explain.explained import Explanation
from regard.explain.fonts import families_for
from regard.explain.pictures.picture import Picture
from regard.explain.words import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = Literal["encoder", "decoder", "cross"]
TITLES = {
    "encoder": "Reading: where each source word looks (encoder self-attention)",
    "cross": "Writing: where each word of the translation looks in the source (cross-attention)",
    "decoder": "Writing: where each word of the translation looks in what is written (decoder self-attention)",
}
CELL, MARGIN, SMALLEST, LARGEST = 0.17, 0.9, 1.6, 6.0


@dataclass(frozen=True)
class HeadsPicture(Picture):
    """One kind of attention of a pair."""

    maps: AttentionMaps
    """Between whole words."""
    part: Part
    source_text: str
    target_text: str

    @property
    def weights(self) -> Weights:
        """[L, H, Q, K]"""
        weights: Weights = getattr(self.maps, self.part)
        return weights

    def figure(self) -> Figure:
        layers, heads = self.weights.shape[:2]
        rows, columns = self._labels()
        families = families_for([*rows, *columns, self.source_text, self.target_text])
        across, down = (min(LARGEST, max(SMALLEST, CELL * len(words))) for words in (columns, rows))
        figure = new_figure(across * (heads + 1) + MARGIN + 0.9, (down + 0.35) * layers + MARGIN + 0.7)
        lettering = Lettering(families, 7 if max(len(rows), len(columns)) <= 40 else 5)
        grid = figure.subplots(layers, heads + 1, squeeze=False, sharex=True, sharey=True)
        for layer in range(layers):
            for place, axes in enumerate(grid[layer]):
                values = self.weights[layer].mean(axis=0) if place == 0 else self.weights[layer, place - 1]
                image = heat_map(axes, values, rows, columns, lettering)
                title(axes, f"layer {layer + 1}, " + ("mean" if place == 0 else f"head {place}"))
                axes.label_outer()
        figure.colorbar(image, ax=list(grid.flat), shrink=0.5, pad=0.01).set_label("share of attention")
        pair = f"{shortened(plain(self.source_text), 80)} → {shortened(plain(self.target_text), 80)}"
        figure.suptitle(
            f"{TITLES[self.part]}\n{pair}", x=0.01, ha="left", fontsize=11, fontfamily=families, parse_math=False
        )
        return figure

    def to_text(self) -> str:
        layers, heads, queries, keys = self.weights.shape
        return (
            f"{self.source_text}\n{self.target_text}\n"
            f"{self.part} attention of {layers} layers and {heads} heads, {queries} words that look at {keys}"
        )

    def to_json(self) -> Mapping[str, Any]:
        rows, columns = self._labels()
        pair = {"source": self.source_text, "target": self.target_text, "part": self.part}
        return pair | {"rows": list(rows), "columns": list(columns), "weights": self.weights.tolist()}

    def _labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        maps = self.maps
        return {
            "encoder": (maps.source, maps.source),
            "decoder": (maps.target, maps.target_input),
            "cross": (maps.target, maps.source),
        }[self.part]


def heads_picture(explanation: Explanation, part: Part = "cross") -> HeadsPicture:
    """The attention of an explained pair, in every layer and head."""
    return HeadsPicture(explanation.maps.words(), part, explanation.source_text, explanation.target_text)
