"""The engine in C, step by step, for searches that have a say in every choice."""

from __future__ import annotations

import ctypes

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.native.engine import PackedTransformer
from regard.native.library import LANES, LONG, POINTER, SpaceStructure, loaded, pointers


class _Rows(ctypes.Structure):
    _fields_ = (
        ("rows", LONG),
        *((name, POINTER) for name in ("tokens", "positions", "own", "earlier")),
        ("longest", LONG),
        *((name, POINTER) for name in ("memory", "memory_length")),
    )


class NativeState:
    """Where a batch stands; rows are hypotheses, and each knows its sentence and which row it was at every step."""

    def __init__(self, memory: Tensor, lengths: NDArray[np.int32], first: NDArray[np.int64]) -> None:
        self.memory, self.lengths = memory, lengths
        self.first = first
        self.sentence = np.arange(len(lengths))
        self.ancestor = np.empty((len(lengths), 0), dtype=np.uint64)
        self.made: list[Tensor] = []

    def reorder(self, rows: Tensor) -> NativeState:
        """Go on with these rows, in this order; a row may come more than once."""
        chosen = rows.numpy()
        other = object.__new__(NativeState)
        other.memory, other.lengths, other.first = self.memory, self.lengths, self.first
        other.made = self.made
        other.sentence = self.sentence[chosen]
        other.ancestor = self.ancestor[chosen]
        return other

    def keep(self, sentences: Tensor, rows: Tensor) -> NativeState:  # noqa: ARG002 - rows know their sentences
        """The same: rows know their sentences, and what is no longer asked for costs nothing."""
        return self.reorder(rows)


class NativeSteps:
    """Encoding and decoding with one model; a row's result does not depend on what it is batched with."""

    def __init__(self, model: PackedTransformer) -> None:
        self._model = model

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """States [B, S, D], zeros on padding, of source [B, S]; padding comes last in source_mask [B, S]."""
        lengths = _lengths(source_mask)
        tokens = source[source_mask].int()
        packed = torch.empty(len(tokens), self._model.parts.width)
        structure = self._model.structure(source.size(1))
        space, _kept = self._space(len(tokens), source.size(1))
        loaded().encode(
            ctypes.byref(structure), len(lengths), lengths.ctypes.data, tokens.data_ptr(), space, packed.data_ptr()
        )
        states = packed.new_zeros(*source.shape, packed.size(1))
        states[source_mask] = packed
        return states

    def start(self, states: Tensor, source_mask: Tensor) -> NativeState:
        """The state before the first token, for states [B, S, D]."""
        packed = states[source_mask].contiguous()
        lengths = _lengths(source_mask)
        padded = -(-lengths.astype(np.int64) // LANES) * LANES
        sizes = len(self._model.parts.decoder) * packed.size(1) * (padded + lengths)
        memory = torch.empty(int(sizes.sum()))
        space, _kept = self._space(len(packed), 1)
        structure = self._model.structure(1)
        loaded().remember(
            ctypes.byref(structure), len(lengths), lengths.ctypes.data, packed.data_ptr(), space, memory.data_ptr()
        )
        return NativeState(memory, lengths, np.cumsum(sizes) - sizes)

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        """Logits [R, V] after one more token of each row, tokens [R], and the state after it."""
        parts, rows, number = self._model.parts, len(tokens), len(state.made)
        layers, width = len(parts.decoder), parts.width
        own = torch.empty(rows, layers, 2 * width)
        bases = np.array([tensor.data_ptr() for tensor in state.made], dtype=np.uint64)
        row_bytes = np.uint64(layers * 2 * width * own.element_size())
        own_places = np.uint64(own.data_ptr()) + np.arange(rows, dtype=np.uint64) * row_bytes
        earlier = np.ascontiguousarray(bases + state.ancestor * row_bytes)
        memory_bytes = (state.first * own.element_size()).astype(np.uint64)[state.sentence]
        arrays = (
            tokens.int().numpy(),
            np.full(rows, number, dtype=np.int32),
            own_places,
            earlier,
            np.uint64(state.memory.data_ptr()) + memory_bytes,
            state.lengths[state.sentence],
        )
        places = [array.ctypes.data for array in arrays]
        given = _Rows(rows, *places[:4], number, *places[4:])
        longest = max(number + 1, int(state.lengths.max()))
        space, _kept = self._space(rows, longest)
        features, logits = torch.empty(rows, width), torch.empty(rows, parts.output.out_features)
        structure = self._model.same_structure(number + 1)
        loaded().decode_logits(ctypes.byref(structure), ctypes.byref(given), space, *pointers(features, logits))
        state.made = [*state.made, own]
        state.ancestor = np.concatenate([state.ancestor, np.arange(rows, dtype=np.uint64)[:, None]], axis=1)
        return logits, state

    def _space(self, rows: int, positions: int) -> tuple[SpaceStructure, list[Tensor]]:
        widest, width = self._model.widest, self._model.parts.width
        padded = positions + LANES
        kept = [
            torch.empty(rows * widest), torch.empty(rows * width), torch.empty(padded), torch.empty(padded * width),
            torch.empty(padded, dtype=torch.int64), torch.empty(rows * widest, dtype=torch.uint8), torch.empty(rows),
        ]  # fmt: skip
        return SpaceStructure(*pointers(*kept)), kept


def _lengths(source_mask: Tensor) -> NDArray[np.int32]:
    return source_mask.sum(1).numpy().astype(np.int32)
