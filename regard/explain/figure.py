"""An explanation as a figure for print: mean cross-attention, its most telling heads, and shares by gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.explain.canvas import Lettering, heat_map, new_figure, plain, shortened, title
from regard.explain.fonts import families_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regard.explain.explained import Explanation

HEADS_SHOWN = 2
CELL, MARGIN, BAR = 0.2, 1.3, 0.12
"""Inches: of a token's square, of the labels beside a map, and of the bar with its colours."""
SMALLEST, LARGEST = 2.6, 9.0


def telling(weights: NDArray[np.floating]) -> float:
    """How much a head [Q, K] tells its rows apart, in bits: the entropy of its mean row less the mean entropy of rows.

    It is high where rows are sharp and look at different places; 0 where all look at the same, such as the end mark.
    """
    return float(_entropy(weights.mean(axis=0)) - _entropy(weights).mean())


def _entropy(shares: NDArray[np.floating]) -> NDArray[np.floating]:
    values: NDArray[np.floating] = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)
    return values


def most_telling_heads(weights: NDArray[np.floating], count: int = HEADS_SHOWN) -> list[tuple[int, int]]:
    """Layer and head, counted from 0, of those of [L, H, Q, K] that tell rows apart best."""
    layers, heads = weights.shape[:2]
    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    return sorted(every, key=lambda place: -telling(weights[place]))[:count]


def explanation_figure(explanation: Explanation) -> Figure:
    """Four heat maps with the tokens of the pair: mean cross-attention, two heads, and the shares of gradients."""
    source, target = explanation.source_tokens, explanation.target_tokens
    families = families_for([*source, *target, explanation.source_text, explanation.target_text])
    maps = [("Cross-attention, mean of all heads", explanation.cross.mean(axis=(0, 1)))]
    maps += [
        (f"Cross-attention, layer {layer + 1}, head {head + 1}", explanation.cross[layer, head])
        for layer, head in most_telling_heads(explanation.cross)
    ]
    maps.append(("Gradients: shares of the source", explanation.source_shares))
    longest = max(len(source), len(target))
    cell = min(LARGEST, max(SMALLEST, CELL * longest)) / longest  # squares: the longer side says how large
    across, down = cell * len(source), cell * len(target)
    bar = BAR / across
    figure = new_figure(2 * (max(across, SMALLEST) + MARGIN), 2 * (down + MARGIN) + 0.7)
    lettering = Lettering(families, 8 if longest <= 40 else 5)
    for number, (name, values) in enumerate(maps, start=1):
        axes = figure.add_subplot(2, 2, number)
        most = 1.0 if name.startswith("Cross") else max(float(values.max()), 1e-9)
        image = heat_map(axes, values, target, source, lettering, most)
        title(axes, name)
        figure.colorbar(image, cax=axes.inset_axes((1 + bar, 0, bar, 1))).ax.tick_params(labelsize=7)
    words = f"{shortened(plain(explanation.source_text), 90)}\n→ {shortened(plain(explanation.target_text), 90)}"
    figure.suptitle(words, x=0.01, ha="left", fontsize=10, fontfamily=families, parse_math=False)
    return figure
