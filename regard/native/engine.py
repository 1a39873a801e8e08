"""A Transformer for the engine in C: its weights packed, and packed again when they have changed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.native.library import FLOAT, LANES, LONG, POINTER, library, loaded, pointers, takes
from regard.native.packing import MatrixStructure, PackedMatrix, pack
from regard.native.parts import DecoderLayerParts, EncoderLayerParts, TransformerParts

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


class ModelStructure(ctypes.Structure):
    """`Model` of layers.h; it owns all that it points to."""

    _fields_ = (
        *((name, LONG) for name in ("width", "heads", "widest", "norm_first")),
        *((name, FLOAT) for name in ("score_scale", "epsilon")),
        *((name, _Embedding) for name in ("source", "target")),
        *((name, LONG) for name in ("encoder_layers", "decoder_layers")),
        *((name, POINTER) for name in ("encoder", "decoder")),
        *((name, _Norm) for name in ("encoder_norm", "decoder_norm")),
        ("output", MatrixStructure),
        *((name, LONG) for name in ("before", "total")),
        *((name, POINTER) for name in ("straight", "crossed")),
    )
    kept: list[object]


class ModelsStructure(ctypes.Structure):
    """`Models` of search.h; it owns all that it points to."""

    _fields_ = (("each", POINTER), *((name, LONG) for name in ("count", "logarithms")))
    kept: object


class PackedModel(Protocol):
    """What whole searches in C are done with: one Transformer, or several that are asked together."""

    @property
    def vocabulary(self) -> int:
        """How many tokens there are for an output."""

    @property
    def position_bytes(self) -> int:
        """What keys and values of one position of a hypothesis take."""

    def models(self, positions: int, unchanged: bool = False) -> ModelsStructure:
        """As they are now, or, if they are known to be unchanged, as they were; able to count so many positions."""


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
    """One model in one form of numbers; `structure()` is what the functions in C are handed.

    A structure owns all that it points to, so that it may be used while others ask for another one.
    """

    def __init__(self, parts: TransformerParts, compute: Compute = "float32") -> None:
        self.parts, self.compute = parts, compute
        self.widest = max(3 * parts.width, *parts.inner_sizes)
        self._made_from: list[tuple[int, int]] = []
        self._positions = 0
        self._tables: dict[int, Tensor] = {}
        """The positions of each embedding; waves take longer to compute than all else takes to pack."""
        self._structure: ModelStructure | None = None
        self._lock = threading.RLock()

    @property
    def vocabulary(self) -> int:
        return self.parts.output.out_features

    @property
    def position_bytes(self) -> int:
        return 4 * len(self.parts.decoder) * 2 * self.parts.width

    def models(self, positions: int, unchanged: bool = False) -> ModelsStructure:
        structure = self.same_structure(positions) if unchanged else self.structure(positions)
        models = ModelsStructure(ctypes.addressof(structure), 1, False)
        models.kept = structure
        return models

    def structure(self, positions: int) -> ModelStructure:
        """The model as it is now, able to count so many positions.

        Weights that may be trained are packed anew each time, for an optimiser leaves no sign that it changed them.
        """
        with self._lock:
            tensors = list(self._tensors())
            made_from = [(tensor.data_ptr(), _version(tensor)) for tensor in tensors]
            if made_from != self._made_from or any(tensor.requires_grad for tensor in tensors):
                if not all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in tensors):
                    raise InputError("the model is no longer float32 in the main memory: make a new Translator for it")
                self._made_from = made_from
                self._structure = None
            return self.same_structure(positions)

    def same_structure(self, positions: int) -> ModelStructure:
        """The model as it was when `structure` was asked last."""
        with self._lock:
            grows = positions > self._positions
            if grows:
                self._positions = max(positions, 2 * self._positions, FIRST_POSITIONS)
            if self._structure is None:
                self._structure = self._describe(positions)
            elif grows:
                kept = self._structure.kept
                self._structure = ModelStructure.from_buffer_copy(self._structure)
                self._structure.kept = [*kept]
                self._embed(self._structure, positions)
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

    def _describe(self, positions: int) -> ModelStructure:
        parts = self.parts
        kept: list[object] = []
        encoder = (_EncoderLayer * len(parts.encoder))(
            *(_EncoderLayer(*self._members(layer, kept)) for layer in parts.encoder)
        )
        decoder = (_DecoderLayer * len(parts.decoder))(
            *(_DecoderLayer(*self._members(layer, kept)) for layer in parts.decoder)
        )
        structure = ModelStructure(
            parts.width, parts.heads, self.widest, parts.norm_first, parts.score_scale,
            parts.decoder[0].attention_norm.eps, _Embedding(), _Embedding(), len(encoder), len(decoder),
            ctypes.addressof(encoder), ctypes.addressof(decoder), _norm(parts.encoder_norm), _norm(parts.decoder_norm),
            self._matrix(parts.output, kept), 0, len(decoder) * parts.width,
        )  # fmt: skip
        structure.kept = [*kept, encoder, decoder, parts]
        self._embed(structure, positions)
        return structure

    def _members(self, layer: EncoderLayerParts | DecoderLayerParts, kept: list[object]) -> list[Any]:
        return [
            self._matrix(module, kept) if isinstance(module, nn.Linear) else _norm(module)
            for module in vars(layer).values()
        ]

    def _matrix(self, module: nn.Linear, kept: list[object]) -> MatrixStructure:
        packed: PackedMatrix = pack(module.weight, module.bias, self.compute == "int8")
        kept.append(packed)
        return packed.structure

    def _embed(self, structure: ModelStructure, positions: int) -> None:
        """Let the model count positions, as many as are wanted now and perhaps more."""
        if self.parts.rotation is not None:
            tables = self.parts.rotation(self._positions)
            structure.straight, structure.crossed = pointers(*tables)
            structure.kept.append(tables)
        for name, embedding in (("source", self.parts.source), ("target", self.parts.target)):
            table = self._tables.get(id(embedding))
            if table is None or isinstance(table, nn.Parameter) or len(table) < self._positions:
                table = embedding.positions(self._positions)
            if table is not None:
                self._tables[id(embedding)] = table
                if len(table) < positions:
                    raise InputError(f"the model has learned {len(table)} positions; {positions} are more")
            structure.kept.append(table)
            setattr(structure, name, _Embedding(*pointers(embedding.table, table), embedding.scale))


def _version(tensor: Tensor) -> int:
    """A number that grows with changes, but for those of an optimiser; a tensor of inference mode has none."""
    return -1 if tensor.is_inference() else tensor._version


def _norm(module: nn.LayerNorm | None) -> _Norm:
    return _Norm() if module is None else _Norm(*pointers(module.weight, module.bias))
