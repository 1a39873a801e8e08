"""What runs the model's steps for a search: the model itself, or its decoder in C, which gives the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from torch import Tensor

from regard.models.contract import Memory, SequenceToSequence
from regard.models.ensemble import Ensemble, average_logits, parts_of
from regard.models.transformer import Transformer
from regard.native.decoder import NativeDecoder, NativeState, suits_decoder


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


class NativeEngine:
    """Steps in C for a Transformer."""

    def __init__(self, model: SequenceToSequence, decoder: NativeDecoder) -> None:
        self._model, self._decoder = model, decoder

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        return self._model.encode(source, source_mask)

    def start(self, memory: Memory) -> NativeState:
        return self._decoder.start(memory.states, memory.mask)

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        return self._decoder.step(tokens, state)


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

    def __init__(self, model: Ensemble) -> None:
        self._model = model
        self._engines = [engine_for(member) for member in model.each()]

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        return self._model.encode(source, source_mask)

    def start(self, memory: Memory) -> EnsembleState:
        parts = parts_of(memory)
        return EnsembleState([engine.start(part) for engine, part in zip(self._engines, parts, strict=True)])

    def step(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        steps = [engine.step(tokens, own) for engine, own in zip(self._engines, state.members, strict=True)]
        logits = average_logits([logits for logits, _ in steps], self._model.average)
        return logits, EnsembleState([own for _, own in steps])


def engine_for(model: SequenceToSequence) -> Engine:
    """The fastest engine for a model on this machine."""
    if isinstance(model, Ensemble):
        return EnsembleEngine(model)
    parts = model.decoder_parts() if isinstance(model, Transformer) else None
    return NativeEngine(model, NativeDecoder(parts)) if parts is not None and suits_decoder(parts) else model
