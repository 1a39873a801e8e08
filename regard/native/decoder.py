"""A Transformer's decoder in C: the same steps as the model's own, without a pass through Python for each operation."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.native.library import (
    FLOAT,
    LANES,
    LONG,
    POINTER,
    library,
    loaded,
    matrix_product,
    pointers,
    shared_out,
    takes,
)

MAX_BEST = 128


class _Linear(ctypes.Structure):
    _fields_ = (("weight", POINTER), ("bias", POINTER))


LAYER_FIELDS = (
    *("query_key_value", "attention_output", "query", "cross_output", "inner", "outer"),
    *("attention_norm", "cross_norm", "feed_forward_norm"),
)


class _Layer(ctypes.Structure):
    _fields_ = tuple((name, _Linear) for name in LAYER_FIELDS)


class _Decoder(ctypes.Structure):
    _fields_ = (
        *((name, LONG) for name in ("layers", "width", "heads", "inner", "vocabulary", "norm_first")),
        *((name, FLOAT) for name in ("embedding_scale", "score_scale", "epsilon")),
        *((name, POINTER) for name in ("embedding", "positions", "layer")),
        *((name, _Linear) for name in ("final_norm", "output")),
        ("product", POINTER),
    )


class _Step(ctypes.Structure):
    _fields_ = (
        *((name, LONG) for name in ("rows", "step", "sentences", "source")),
        *((name, POINTER) for name in ("tokens", "sentence", "source_length", "ancestor", "made", "rows_then")),
        *((name, POINTER) for name in ("memory", "x", "wide", "narrow", "scores", "logits")),
    )


@dataclass(frozen=True)
class DecoderLayerParts:
    """The modules of a decoder layer that the kernel needs."""

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
class DecoderParts:
    """What the kernel needs of a decoder; `positions` [longest, D] or None."""

    layers: Sequence[DecoderLayerParts]
    heads: int
    norm_first: bool
    embedding: Tensor
    embedding_scale: float
    positions: Tensor | None
    score_scale: float
    final_norm: nn.LayerNorm | None
    output: nn.Linear


def suits_decoder(parts: DecoderParts) -> bool:
    """Whether the kernel takes such a decoder on this machine."""
    width = parts.embedding.size(1)
    inner = parts.layers[0].inner.out_features
    return (
        takes(parts.embedding)
        and library() is not None
        and matrix_product() is not None
        and (width // parts.heads) % LANES == 0
        and inner % LANES == 0
    )


@dataclass(frozen=True)
class _Described:
    """A decoder as the kernel sees it."""

    decoder: _Decoder
    layers: object
    """To which it points."""


class NativeState:
    """Where a batch stands; rows are hypotheses, and each knows its sentence and which row it was at every step."""

    def __init__(self, described: _Described, memory: Tensor, source_length: NDArray[np.int32]) -> None:
        self.described, self.memory, self.source_length = described, memory, source_length
        self.sentence = np.arange(len(source_length), dtype=np.int32)
        self.ancestor = np.empty((len(source_length), 0), dtype=np.int32)
        self.made: list[Tensor] = []

    def reorder(self, rows: Tensor) -> NativeState:
        """Go on with these rows, in this order; a row may come more than once."""
        chosen = rows.numpy()
        other = object.__new__(NativeState)
        other.described, other.memory, other.source_length = self.described, self.memory, self.source_length
        other.made = self.made
        other.sentence = self.sentence[chosen]
        other.ancestor = self.ancestor[chosen]
        return other

    def keep(self, sentences: Tensor, rows: Tensor) -> NativeState:  # noqa: ARG002 - rows know their sentences
        """The same: rows know their sentences, and what is no longer asked for costs nothing."""
        return self.reorder(rows)


class NativeDecoder:
    """Steps of one decoder. It reads the parameters where they lie, and so follows when they change."""

    def __init__(self, parts: DecoderParts) -> None:
        self._parts = parts
        self.width = parts.embedding.size(1)
        self.vocabulary, self.inner = parts.output.out_features, parts.layers[0].inner.out_features

    def start(self, memory: Tensor, source_mask: Tensor) -> NativeState:
        """The state before the first token, for memory [B, S, D]; padding comes last in source_mask [B, S]."""
        keys_values = torch.stack([layer.key_value(memory) for layer in self._parts.layers])
        return NativeState(self._described(), keys_values, source_mask.sum(1).numpy().astype(np.int32))

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        """Logits [R, V] after one more token of each row, tokens [R], and the state after it."""
        parts, rows, number = self._parts, len(tokens), len(state.made)
        sentences, source = state.memory.shape[1:3]
        state.made = [*state.made, torch.empty(len(parts.layers), rows, 2 * self.width)]
        made = np.array([tensor.data_ptr() for tensor in state.made], dtype=np.uint64)
        rows_then = np.array([tensor.size(1) for tensor in state.made], dtype=np.int64)
        longest = -(-max(number + 1, source) // LANES) * LANES
        wide = max(3 * self.width, self.inner)
        spaces = [
            torch.empty(size) for size in (rows * self.width, rows * wide, rows * self.width, parts.heads * longest)
        ]
        logits = torch.empty(rows, self.vocabulary)
        tokens = tokens.contiguous()
        arrays = (state.sentence, state.source_length, np.ascontiguousarray(state.ancestor), made, rows_then)
        description = _Step(
            rows, number, sentences, source, tokens.data_ptr(), *(array.ctypes.data for array in arrays),
            *pointers(state.memory, *spaces, logits),
        )  # fmt: skip
        loaded().decoder_step(ctypes.byref(state.described.decoder), ctypes.byref(description))
        own_rows = np.arange(rows, dtype=np.int32)[:, None]
        state.ancestor = np.concatenate([state.ancestor, own_rows], axis=1)
        return logits, state

    def _described(self) -> _Described:
        parts = self._parts
        layers = (_Layer * len(parts.layers))(*(_describe(layer) for layer in parts.layers))
        decoder = _Decoder(
            len(parts.layers), self.width, parts.heads, self.inner, self.vocabulary, parts.norm_first,
            parts.embedding_scale, parts.score_scale, parts.layers[0].attention_norm.eps, parts.embedding.data_ptr(),
            None if parts.positions is None else parts.positions.data_ptr(), ctypes.addressof(layers),
            _Linear() if parts.final_norm is None else _pair(parts.final_norm), _pair(parts.output), matrix_product(),
        )  # fmt: skip
        return _Described(decoder, layers)


def _describe(layer: DecoderLayerParts) -> _Layer:
    return _Layer(*(_pair(getattr(layer, name)) for name in LAYER_FIELDS))


def _pair(module: nn.Linear | nn.LayerNorm) -> _Linear:
    return _Linear(*pointers(module.weight, module.bias))


def best_tokens(logits: Tensor, count: int, forbidden: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The `count` likeliest tokens of each row of logits [R, V]: log-probabilities [R, count] and numbers, best first.

    The forbidden ones keep their share of the probability. Where too few are left, minus infinity fills up.
    """
    rows, vocabulary = logits.shape
    log_probabilities = logits.new_empty(rows, count)
    tokens = torch.empty(rows, count, dtype=torch.int64)
    never = np.array(forbidden, dtype=np.int64)
    function = loaded().best_tokens
    given = (logits.data_ptr(), len(never), never.ctypes.data, *pointers(log_probabilities, tokens))
    shared_out(rows, lambda begin, end, _: function(begin, end, vocabulary, count, *given))
    return log_probabilities, tokens
