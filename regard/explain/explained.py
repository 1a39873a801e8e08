"""One sentence pair seen from inside of a model: its attention, its steps, its search and its gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from regard.explain.attribution import METHOD
from regard.explain.capture import AttentionMaps
from regard.explain.packing import pack
from regard.explain.steps import Step
from regard.explain.tree import BeamTree
from regard.explain.words import Weights, Word, group_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT, VERSION = "regard-explanation", 1


@dataclass(frozen=True)
class ModelFacts:
    """What stands beside an explanation: which model it is."""

    name: str
    source_language: str
    target_language: str
    encoder_layers: int
    decoder_layers: int
    heads: int
    width: int
    parameters: int
    positions: str


@dataclass(frozen=True)
class Alternative:
    """Another translation that the search found."""

    text: str
    score: float


@dataclass(frozen=True)
class Explanation:
    """A sentence pair seen from inside of a model. Arrays are numpy's; `to_json` is what the page reads."""

    model: ModelFacts
    source_text: str
    target_text: str
    forced: bool
    """Whether the target was given; otherwise it is the model's own translation."""
    finished: bool
    """Whether the model ended its translation; otherwise the limit of its length did, or the guard against loops. True
    of a given target.
    """
    maps: AttentionMaps
    steps: tuple[Step, ...]
    """One for each token of the target and for its end mark."""
    source_shares: Weights
    """[T, S]: how much of a step is owed to each source token, by gradients."""
    target_shares: Weights
    """[T, T]: the same for the tokens read before it."""
    beam: BeamTree | None = None
    """None for a given target."""
    positions: Weights | None = None
    """[N, D]: the vectors of the first positions, where the model adds some."""
    alternatives: tuple[Alternative, ...] = ()
    source_words: tuple[Word, ...] = field(init=False)
    target_words: tuple[Word, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source_words", tuple(group_words(self.source_tokens)))
        object.__setattr__(self, "target_words", tuple(group_words(self.target_tokens)))

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """The source as it is read, its end mark included."""
        return self.maps.source

    @property
    def target_tokens(self) -> tuple[str, ...]:
        """The target as it is predicted, its end mark included."""
        return self.maps.target

    @property
    def encoder(self) -> Weights:
        """Encoder self-attention [L, H, S, S]."""
        return self.maps.encoder

    @property
    def decoder(self) -> Weights:
        """Decoder self-attention [L, H, T, T]; rows are predicted tokens, columns those read."""
        return self.maps.decoder

    @property
    def cross(self) -> Weights:
        """Cross-attention [L, H, T, S]; rows are predicted tokens."""
        return self.maps.cross

    @property
    def log_probability(self) -> float:
        """Of the whole target, its end mark included."""
        return float(np.sum([step.log_probability for step in self.steps]))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, arrays packed (`regard.explain.packing`): what the page and the service give and take."""
        maps = self.maps
        positions = None if self.positions is None else pack(self.positions) | {"kind": self.model.positions}
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": asdict(self.model),
            "source": {"text": self.source_text, **_side(maps.source, self.source_words)},
            "target": {
                "text": self.target_text,
                **_side(maps.target, self.target_words),
                "read": list(maps.target_input),
                "forced": self.forced,
                "finished": self.finished,
            },
            "attention": {name: pack(getattr(maps, name), 0.0, 1.0) for name in ("encoder", "decoder", "cross")},
            "steps": [step.to_json() for step in self.steps],
            "beam": None if self.beam is None else self.beam.to_json(),
            "attribution": {
                "method": METHOD,
                "source": pack(self.source_shares, 0.0, 1.0),
                "target": pack(self.target_shares, 0.0, 1.0),
            },
            "positions": positions,
            "alternatives": [asdict(each) for each in self.alternatives],
        }

    def to_page(self, language: Literal["en", "zh"] = "en") -> str:
        """One HTML page that needs no network and no server."""
        from regard.web import self_contained_page

        return self_contained_page(self.to_json(), language)

    def figure(self) -> Figure:
        """A matplotlib figure: cross-attention on the whole, its most telling heads, and the gradients' shares."""
        from regard.explain.figure import explanation_figure

        return explanation_figure(self)

    def save(self, path: str | Path, language: Literal["en", "zh"] = "en") -> Path:
        """Write the page (.html), the figure (.png, .svg, .pdf) or the data (.json), by the ending of the name."""
        from regard.explain.saving import save_explanation

        return save_explanation(self, Path(path), language)

    def to_text(self) -> str:
        """A table for a terminal: each token, its probability, and what the model looked at."""
        from regard.explain.summary import summary

        return summary(self)

    def _repr_html_(self) -> str:
        """The page inside a notebook, in a frame of its own that can reach nothing outside of it."""
        from regard.explain.saving import framed

        return framed(self.to_page())


def _side(tokens: Sequence[str], words: Sequence[Word]) -> Mapping[str, Any]:
    return {"tokens": list(tokens), "words": [asdict(word) for word in words]}
