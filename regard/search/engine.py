"""What runs the model's steps for a search: the model itself, or its decoder in C, which gives the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from torch import Tensor

from regard.errors import InputError
from regard.models.contract import Memory, SequenceToSequence
from regard.models.ensemble import Average, Ensemble, EnsembleMemory, average_logits, parts_of
from regard.models.transformer import Transformer
from regard.native.engine import Compute, PackedModel, PackedTransformer, suits_engine, takes_bytes
from regard.native.ensemble import PackedEnsemble
from regard.native.library import library, why_not
from regard.native.steps import NativeState, NativeSteps


class SearchState(Protocol):
    """Where a decoder stands, by rows of hypotheses."""

    def reorder(self, rows: Tensor) -> Self:
        """Go on with these rows [R], those of a sentence side by side."""

    def keep(self, sentences: Tensor, rows: Tensor) -> Self:
        """Go on with some sentences [B] and with these of their rows [R]."""


class Engine(Protocol):
    """The part of a model's contract that a search needs."""

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        """Encode `source` [B, S]; `source_mask` [B, S] is True on real tokens."""

    def start(self, memory: Memory) -> Any:
        """The state before the first token, one hypothesis a sentence."""

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Take one token for each hypothesis, `tokens` [R]; give logits [R, V] of the next, and the new state."""


def is_invariant(engine: Engine) -> bool:
    """Whether what a sentence is batched with changes no bit of its logits."""
    return bool(getattr(engine, "invariant", False))


class NativeEngine:
    """Encoding and steps in C for a Transformer; a sentence's result does not depend on what it is batched with."""

    invariant = True

    def __init__(self, model: PackedTransformer) -> None:
        self.packed = model
        self._steps = NativeSteps(model)

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        return Memory(self._steps.encode(source, source_mask), source_mask)

    def start(self, memory: Memory) -> NativeState:
        return self._steps.start(memory.states, memory.mask)

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        return self._steps.step(tokens, state)


@dataclass
class EnsembleState:
    """Where the decoders of an ensemble stand."""

    members: Sequence[SearchState]

    def reorder(self, rows: Tensor) -> EnsembleState:
        return EnsembleState([member.reorder(rows) for member in self.members])

    def keep(self, sentences: Tensor, rows: Tensor) -> EnsembleState:
        return EnsembleState([member.keep(sentences, rows) for member in self.members])


class EnsembleEngine:
    """Steps of an ensemble, those of each member by its own fastest engine."""

    def __init__(self, model: Ensemble, compute: Compute) -> None:
        self._model = model
        self._engines = [engine_for(member, compute) for member in model.each()]
        self.invariant = all(is_invariant(engine) for engine in self._engines)
        self.packed = _packed_together(self._engines, model.average)

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        parts = [engine.encode(source, source_mask) for engine in self._engines]
        return EnsembleMemory(parts[0].states, source_mask, parts)

    def start(self, memory: Memory) -> EnsembleState:
        parts = parts_of(memory)
        return EnsembleState([engine.start(part) for engine, part in zip(self._engines, parts, strict=True)])

    def step(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        steps = [engine.step(tokens, own) for engine, own in zip(self._engines, state.members, strict=True)]
        logits = average_logits([logits for logits, _ in steps], self._model.average)
        return logits, EnsembleState([own for _, own in steps])


def _packed_together(engines: Sequence[Engine], average: Average) -> PackedEnsemble | None:
    """The members for searches that are wholly in C; None where one of them is not."""
    members = [engine.packed for engine in engines if isinstance(engine, NativeEngine)]
    suits = len(members) == len(engines) and PackedEnsemble.suits(members)
    return PackedEnsemble(members, average == "log-probabilities") if suits else None


def packed_model(engine: Engine) -> PackedModel | None:
    """What the engine in C searches with on its own; None where it cannot."""
    return engine.packed if isinstance(engine, NativeEngine | EnsembleEngine) else None


def engine_for(model: SequenceToSequence, compute: Compute = "float32") -> Engine:
    """The fastest engine for a model on this machine; numbers of 8 bits need the one in C."""
    if isinstance(model, Ensemble):
        return EnsembleEngine(model, compute)
    parts = model.parts() if isinstance(model, Transformer) else None
    suits = parts is not None and suits_engine(parts)
    if compute == "int8" and not (suits and takes_bytes()):
        raise InputError(f"compute int8: {_why_no_bytes(suits)}; use float32")
    return NativeEngine(PackedTransformer(parts, compute)) if parts is not None and suits else model


def _why_no_bytes(suits: bool) -> str:
    if library() is None:
        return f"there are no kernels here ({why_not()})"
    if not suits:
        return "this model has parts for which the engine in C has no form"
    return "this processor has no instruction that multiplies bytes (AVX-512 VNNI)"
