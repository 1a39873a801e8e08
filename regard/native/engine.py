"""A Transformer for the engine in C: its weights packed, and packed again when they have changed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Literal

from torch import Tensor, nn

from regard.native.library import FLOAT, LANES, LONG, POINTER, library, loaded, pointers, takes
from regard.native.packing import MatrixStructure, PackedMatrix, pack
from regard.native.parts import DecoderLayerParts, EmbeddingParts, EncoderLayerParts, TransformerParts

Compute = Literal["float32", "int8"]
FIRST_POSITIONS = 256


class _Norm(ctypes.Structure):
    _fields_ = (("gain", POINTER), ("shift", POINTER))


class _EncoderLayer(ctypes.Structure):
    _fields_ = (
        *((name, MatrixStructure) for name in ("query_key_value", "attention_output", "inner", "outer")),
        *((name, _Norm) for name in ("attention_norm", "feed_forward_norm")),
    )


class _DecoderLayer(ctypes.Structure):
    _fields_ = (
        *((name, MatrixStructure) for name in ("query_key_value", "attention_output", "query", "key_value")),
        *((name, MatrixStructure) for name in ("cross_output", "inner", "outer")),
        *((name, _Norm) for name in ("attention_norm", "cross_norm", "feed_forward_norm")),
    )


class _Embedding(ctypes.Structure):
    _fields_ = (("table", POINTER), ("positions", POINTER), ("scale", FLOAT))


class _Model(ctypes.Structure):
    _fields_ = (
        *((name, LONG) for name in ("width", "heads", "widest", "norm_first")),
        *((name, FLOAT) for name in ("score_scale", "epsilon")),
        *((name, _Embedding) for name in ("source", "target")),
        *((name, LONG) for name in ("encoder_layers", "decoder_layers")),
        *((name, POINTER) for name in ("encoder", "decoder")),
        *((name, _Norm) for name in ("encoder_norm", "decoder_norm")),
        ("output", MatrixStructure),
    )


def suits_engine(parts: TransformerParts) -> bool:
    """Whether the engine takes such a model on this machine."""
    return (
        library() is not None
        and bool(parts.encoder)
        and bool(parts.decoder)
        and takes(parts.target.table)
        and (parts.width // parts.heads) % LANES == 0
        and all(size % LANES == 0 for size in parts.inner_sizes)
    )


def takes_bytes() -> bool:
    """Whether this processor multiplies bytes."""
    return library() is not None and bool(loaded().takes_bytes())


class PackedTransformer:
    """One model in one form of numbers; `structure()` is what the functions in C are handed."""

    def __init__(self, parts: TransformerParts, compute: Compute = "float32") -> None:
        self.parts, self.compute = parts, compute
        self.widest = max(3 * parts.width, *parts.inner_sizes)
        self._made_from: list[int] = []
        self._positions = 0
        self._kept: list[object] = []
        self._tables: dict[int, Tensor] = {}
        """The positions of each embedding; waves take longer to compute than all else takes to pack."""
        self._structure: _Model | None = None

    def structure(self, positions: int) -> _Model:
        """The model as it is now, able to count so many positions.

        Weights that may be trained are packed anew each time, for an optimiser leaves no sign that it changed them.
        """
        made_from = [tensor.data_ptr() for tensor in self._tensors()]
        if made_from != self._made_from or any(tensor.requires_grad for tensor in self._tensors()):
            self._made_from = made_from
            self._structure = None
        return self.same_structure(positions)

    def same_structure(self, positions: int) -> _Model:
        """The model as it was when `structure` was asked last."""
        if positions > self._positions:
            self._positions = max(positions, 2 * self._positions, FIRST_POSITIONS)
            self._structure = None
        if self._structure is None:
            self._structure = self._describe()
        return self._structure

    def _tensors(self) -> Iterator[Tensor]:
        parts = self.parts
        for layer in (*parts.encoder, *parts.decoder):
            for module in vars(layer).values():
                yield from module.parameters()
        for module in (parts.encoder_norm, parts.decoder_norm, parts.output):
            if module is not None:
                yield from module.parameters()
        for embedding in (parts.source, parts.target):
            yield embedding.table
            if isinstance(table := embedding.positions(1), nn.Parameter):
                yield table

    def _describe(self) -> _Model:
        parts = self.parts
        self._kept = []
        encoder = (_EncoderLayer * len(parts.encoder))(
            *(_EncoderLayer(*self._members(layer)) for layer in parts.encoder)
        )
        decoder = (_DecoderLayer * len(parts.decoder))(
            *(_DecoderLayer(*self._members(layer)) for layer in parts.decoder)
        )
        self._kept += [encoder, decoder]
        return _Model(
            parts.width, parts.heads, self.widest, parts.norm_first, parts.score_scale,
            parts.decoder[0].attention_norm.eps, self._embedding(parts.source), self._embedding(parts.target),
            len(encoder), len(decoder), ctypes.addressof(encoder), ctypes.addressof(decoder),
            _norm(parts.encoder_norm), _norm(parts.decoder_norm), self._matrix(parts.output),
        )  # fmt: skip

    def _members(self, layer: EncoderLayerParts | DecoderLayerParts) -> list[MatrixStructure | _Norm]:
        return [
            self._matrix(module) if isinstance(module, nn.Linear) else _norm(module) for module in vars(layer).values()
        ]

    def _matrix(self, module: nn.Linear) -> MatrixStructure:
        packed: PackedMatrix = pack(module.weight, module.bias, self.compute == "int8")
        self._kept.append(packed)
        return packed.structure

    def _embedding(self, embedding: EmbeddingParts) -> _Embedding:
        table = self._tables.get(id(embedding))
        if table is None or isinstance(table, nn.Parameter) or len(table) < self._positions:
            table = embedding.positions(self._positions)
            if table is not None:
                self._tables[id(embedding)] = table
        return _Embedding(*pointers(embedding.table, table), embedding.scale)


def _norm(module: nn.LayerNorm | None) -> _Norm:
    return _Norm() if module is None else _Norm(*pointers(module.weight, module.bias))
