"""A Transformer's weights in the common form that other engines know: scores that are q · k / √E, four projections."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.models.folder import LoadedModel
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer
from regard.nn.attention import CrossAttention, SelfAttention
from regard.nn.scores import Attend, Dot, General, ScaledDot
from regard.search.translator import LONGEST_SOURCE

Pair = tuple[Tensor, Tensor]
"""Weight and bias."""


@dataclass(frozen=True)
class AttentionParts:
    """The four projections of an attention, each weight [D, D] and bias [D]."""

    query: Pair
    key: Pair
    value: Pair
    output: Pair

    def named(self) -> dict[str, Pair]:
        return {"query": self.query, "key": self.key, "value": self.value, "output": self.output}


def transformer(loaded: LoadedModel, where: str | Path, to: str) -> Transformer:
    """The model, where it is one that can be taken apart."""
    if not isinstance(loaded.model, Transformer):
        raise cannot(where, to, f"its architecture is {loaded.config.model.architecture}, not transformer")
    return loaded.model


def cannot(where: str | Path, to: str, why: str) -> InputError:
    """The refusal of a part that another engine has no form for."""
    return InputError(f"{where}: cannot be exported to {to}: {why}; regard itself can still run it")


def refuse_scores(loaded: LoadedModel, where: str | Path, to: str) -> None:
    """Refuse attention whose score is no dot product, or one that cannot become a part of the query."""
    model = loaded.config.model
    if model.score == "additive":
        raise cannot(where, to, '`model.score = "additive"` is no dot product')
    if model.score == "general" and model.positions == "rotary":
        raise cannot(where, to, '`model.score = "general"` comes after the rotation of rotary positions')


def self_attention_parts(attention: SelfAttention) -> AttentionParts:
    packed = attention.query_key_value
    (query, key, value) = zip(packed.weight.detach().chunk(3), packed.bias.detach().chunk(3), strict=True)
    return AttentionParts(_scored(attention.attend, query), key, value, pair(attention.output))


def cross_attention_parts(attention: CrossAttention) -> AttentionParts:
    packed = attention.key_value
    (key, value) = zip(packed.weight.detach().chunk(2), packed.bias.detach().chunk(2), strict=True)
    return AttentionParts(_scored(attention.attend, pair(attention.query)), key, value, pair(attention.output))


def encoder_layers(model: Transformer) -> list[EncoderLayer]:
    return [layer for layer in model.encoder if isinstance(layer, EncoderLayer)]


def decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.decoder if isinstance(layer, DecoderLayer)]


def pair(layer: nn.Linear | nn.LayerNorm) -> Pair:
    return layer.weight.detach(), layer.bias.detach()


def position_limits(loaded: LoadedModel) -> tuple[int, int]:
    """How many positions of source and target are written, where an engine wants a table."""
    model, search = loaded.config.model, loaded.config.search
    if model.positions == "learned":
        return model.max_positions, model.max_positions
    longest = int(LONGEST_SOURCE * search.max_length_factor) + search.max_length_extra
    return LONGEST_SOURCE, min(max(longest, LONGEST_SOURCE), 4 * LONGEST_SOURCE)


def position_tables(loaded: LoadedModel, model: Transformer) -> tuple[Tensor | None, Tensor | None]:
    """The vectors [limit, D] that are added to source and target; None where nothing is added."""
    limits = position_limits(loaded)
    tables = [
        embedding.positions.table(limit)
        for embedding, limit in zip((model.source_embedding, model.target_embedding), limits, strict=True)
    ]
    return tables[0], tables[1]


def _scored(attend: Attend, query: Pair) -> Pair:
    """The query's projection such that q · k / √E is the score: a score that differs becomes a part of it."""
    if isinstance(attend, ScaledDot):
        return query
    weight, bias = query
    if isinstance(attend, General):
        # (W q) · k for each head: the score's matrix times the projection's rows of that head.
        turned = attend.weight.detach().transpose(-2, -1).double()
        rows = weight.double().view(attend.heads, attend.head_width, -1)
        weight = (turned @ rows).flatten(0, 1)
        bias = (turned @ bias.double().view(attend.heads, attend.head_width, 1)).flatten()
    elif not isinstance(attend, Dot):
        raise TypeError(f"{type(attend).__name__} has no form as a dot product")
    factor = math.sqrt(attend.head_width)
    return (weight * factor).to(torch.float32), (bias * factor).to(torch.float32)
