"""Embeddings as a picture: the vectors of frequent tokens, on the plane in which they differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.vocabulary import FIRST_LEARNED_ID
from regard.errors import InputError
from regard.explain.canvas import INK, SERIES, dress, new_figure, title
from regard.explain.fonts import families_for
from regard.explain.pictures.picture import Picture
from regard.models.folder import LoadedModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Side = Literal["source", "target"]
FEWEST, MOST = 3, 5000
CLEARLY = 0.9
"""A token belongs to a language where so much of its use is there; otherwise to both."""


@dataclass(frozen=True)
class EmbeddingsPicture(Picture):
    """Tokens on a plane, the most frequent first."""

    tokens: tuple[str, ...]
    points: NDArray[np.float64]
    """[N, 2]: the two directions of greatest variance."""
    variance: tuple[float, float]
    """The share of all variance that lies in either direction."""
    groups: tuple[str, ...]
    """Where each token is used: a language, or `both`."""
    name: str = ""

    def figure(self) -> Figure:
        figure = new_figure(8.2, 6.6)
        axes = figure.subplots()
        for number, group in enumerate(sorted(set(self.groups), key=lambda each: (each == "both", each))):
            members = [place for place, own in enumerate(self.groups) if own == group]
            colour = "#8a8a8a" if group == "both" else SERIES[number % len(SERIES)]
            marker = "os^D"[number % 4]
            across, up = self.points[members].T
            axes.scatter(across, up, s=14, color=colour, marker=marker, label=group, linewidths=0)
        dress(axes)
        of_model = f" of {self.name}" if self.name else ""
        title(axes, f"Embeddings of the {len(self.tokens)} most frequent tokens{of_model}, projected on a plane")
        first, second = self.variance
        axes.set(
            xlabel=f"first principal component ({first:.1%} of the variance)",
            ylabel=f"second principal component ({second:.1%})",
        )
        axes.margins(0.06)
        if len(set(self.groups)) > 1:
            axes.legend(frameon=False, title="used in")
        _label(figure, axes, self.points, self.tokens)
        return figure

    def to_text(self) -> str:
        counts = Counter(self.groups)
        used = ", ".join(f"{counts[group]} used in {group}" for group in sorted(counts))
        return (
            f"{len(self.tokens)} tokens: {used}\nthe plane holds {sum(self.variance):.1%} of their variance; "
            "what looks near on it may be far apart in the other directions"
        )

    def to_json(self) -> Mapping[str, Any]:
        rows = zip(self.tokens, self.groups, self.points.tolist(), strict=True)
        return {
            "model": self.name,
            "variance": list(self.variance),
            "tokens": [{"token": token, "used_in": group, "x": x, "y": y} for token, group, (x, y) in rows],
        }


def embeddings_picture(
    loaded: LoadedModel, pairs: Iterable[tuple[str, str]], tokens: int = 200, side: Side = "source", name: str = ""
) -> EmbeddingsPicture:
    """The tokens that are most frequent in pairs of texts, as the model's table of one side has them.

    Where both sides share the table, tokens of both are counted, and each is said to be used in the language that has
    nine tenths of its uses. Marks and bytes are left out.
    """
    if not FEWEST <= tokens <= MOST:
        raise InputError(f"{tokens} tokens cannot be drawn: take {FEWEST} to {MOST:,}")
    model, tokenizers, data = loaded.model, loaded.tokenizers, loaded.config.data
    together = model.source_embedding.table.weight is model.target_embedding.table.weight and tokenizers.shared
    counts: dict[str, Counter[int]] = {data.source_language: Counter(), data.target_language: Counter()}
    for source, target in pairs:
        if together or side == "source":
            counts[data.source_language].update(tokenizers.source.encode(source))
        if together or side == "target":
            counts[data.target_language].update(tokenizers.target.encode(target))
    totals: Counter[int] = sum(counts.values(), Counter())
    chosen = [token for token, _ in totals.most_common() if token >= FIRST_LEARNED_ID][:tokens]
    if len(chosen) < FEWEST:
        raise InputError(f"the text has {len(chosen)} different tokens, and a picture needs {FEWEST}; name more text")
    embedding = model.source_embedding if together or side == "source" else model.target_embedding
    vectors = embedding.table.weight.detach()[chosen].double().cpu().numpy()
    points, variance = principal_plane(vectors)
    tokenizer = tokenizers.source if together or side == "source" else tokenizers.target
    return EmbeddingsPicture(
        tuple(tokenizer.pieces(chosen)),
        points,
        variance,
        tuple(_used_in(token, counts) for token in chosen),
        name,
    )


def principal_plane(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Points [N, 2] of vectors [N, D] on their two principal components, and the variance that each explains.

    X - mean = U S Vᵀ; the points are the first columns of U S, each turned so that its largest element is positive.
    """
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = left[:, :2] * sizes[:2]
    points *= np.sign(points[np.abs(points).argmax(axis=0), range(2)])
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    return points, (float(shares[0]), float(shares[1]))


def _used_in(token: int, counts: Mapping[str, Counter[int]]) -> str:
    total = sum(each[token] for each in counts.values())
    return next((language for language, each in counts.items() if each[token] >= CLEARLY * total), "both")


def _label(figure: Figure, axes: Axes, points: NDArray[np.float64], tokens: Sequence[str]) -> None:
    """Name the points, the most frequent first, as far as names do not cover one another."""
    families = families_for(tokens)
    figure.draw_without_rendering()  # so that places on paper are known
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    taken: list[Any] = []
    for (x, y), token in zip(points, tokens, strict=True):
        text = axes.annotate(
            token.removeprefix("▁") or token, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=7, color=INK,
            fontfamily=families, parse_math=False,
        )  # fmt: skip
        box = text.get_window_extent(renderer).padded(1.5)
        if any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)
