"""What the engine in C needs of a Transformer: its modules by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class EncoderLayerParts:
    """The modules of an encoder layer, in the order of `EncoderLayer` in layers.h."""

    query_key_value: nn.Linear
    attention_output: nn.Linear
    inner: nn.Linear
    outer: nn.Linear
    attention_norm: nn.LayerNorm
    feed_forward_norm: nn.LayerNorm


@dataclass(frozen=True)
class DecoderLayerParts:
    """The modules of a decoder layer, in the order of `DecoderLayer` in layers.h."""

    query_key_value: nn.Linear
    attention_output: nn.Linear
    query: nn.Linear
    key_value: nn.Linear
    cross_output: nn.Linear
    inner: nn.Linear
    outer: nn.Linear
    attention_norm: nn.LayerNorm
    cross_norm: nn.LayerNorm
    feed_forward_norm: nn.LayerNorm


@dataclass(frozen=True)
class EmbeddingParts:
    """`table` [V, D]; `positions(n)` gives the vectors [n or more, D] of n positions, or None."""

    table: Tensor
    positions: Callable[[int], Tensor | None]
    scale: float


@dataclass(frozen=True)
class TransformerParts:
    """A whole model."""

    source: EmbeddingParts
    target: EmbeddingParts
    encoder: Sequence[EncoderLayerParts]
    decoder: Sequence[DecoderLayerParts]
    heads: int
    score_scale: float
    rotation: Callable[[int], tuple[Tensor, Tensor]] | None
    """The tables [n, D / heads] of rotary positions, for n of them, as `Rotation` makes them."""
    encoder_norm: nn.LayerNorm | None
    decoder_norm: nn.LayerNorm | None
    output: nn.Linear

    @property
    def width(self) -> int:
        return self.target.table.size(1)

    @property
    def norm_first(self) -> bool:
        return self.decoder_norm is not None

    @property
    def inner_sizes(self) -> list[int]:
        """The width of every feed-forward network's inner layer."""
        return [layer.inner.out_features for layer in self.encoder] + [
            layer.inner.out_features for layer in self.decoder
        ]
