"""Masks as a picture: who may look at whom, when a sentence is padded and when the future is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import InputError
from regard.explain.canvas import GRID, INK, SERIES, new_figure, title
from regard.explain.pictures.picture import Picture
from regard.nn.masks import causal, padding_mask, pattern_mask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 64
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MasksPicture(Picture):
    """Masks [N, N], True where a row may look at a column, by what they are for."""

    masks: Mapping[str, Mask]
    padding: int

    def figure(self) -> Figure:
        from matplotlib.colors import ListedColormap

        figure = new_figure(3.5 * len(self.masks) + 0.2, 4.2)
        colours = ListedColormap([GRID, SERIES[0]])
        for number, (name, mask) in enumerate(self.masks.items(), start=1):
            axes = figure.add_subplot(1, len(self.masks), number)
            axes.imshow(mask, cmap=colours, vmin=0, vmax=1, interpolation="nearest")
            title(axes, name)
            edges = np.arange(1, len(mask)) - 0.5
            every = max(1, len(mask) // 10)
            axes.set_xticks(range(0, len(mask), every))
            axes.set_yticks(range(0, len(mask), every))
            axes.set_xticks(edges, minor=True)
            axes.set_yticks(edges, minor=True)
            axes.grid(which="minor", color="white", linewidth=1)
            axes.tick_params(which="minor", length=0)
            axes.set(xlabel="token that is seen", ylabel="token that looks" if number == 1 else "")
            axes.spines[:].set_visible(False)
        figure.suptitle("Masks: blue may be looked at, grey may not", x=0.01, ha="left", fontsize=11, color=INK)
        return figure

    def to_text(self) -> str:
        return "\n".join(
            f"{name}: {int(mask.sum())} of {mask.size} places may be attended" for name, mask in self.masks.items()
        )

    def to_json(self) -> Mapping[str, Any]:
        return {"padding": self.padding, "masks": {name: mask.tolist() for name, mask in self.masks.items()}}


def masks_picture(length: int = 10, padding: int = 3) -> MasksPicture:
    """The masks of a sentence whose last `padding` tokens of `length` are no words: of encoder and decoder."""
    if not 1 <= length <= MOST or not 0 <= padding < length:
        raise InputError(f"{length} tokens, {padding} of them padding: take 1 to {MOST}, and fewer of padding")
    real = torch.arange(length) < length - padding
    row = padding_mask(real[None])
    everywhere = torch.ones(length, length, dtype=torch.bool)
    padded = everywhere if row is None else row[0, 0].expand(length, length)
    past = pattern_mask(causal, length, length)
    masks = {
        "Padding is hidden (encoder, cross)": padded,
        "The future is hidden (decoder)": past,
        "Both": padded & past,
    }
    return MasksPicture({name: mask.numpy().copy() for name, mask in masks.items()}, padding)
