"""What a sequence-to-sequence model promises; search, training, scoring and explanation ask for no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.nn.embedding import TokenEmbedding
from regard.nn.randomness import Randomness

Record = Callable[[str, Tensor], None]
"""Receives attention weights [B, H, queries, keys] under a name such as `encoder.0`, `decoder.0` or `cross.0`."""


@dataclass
class Memory:
    """The encoded source: `states` [B, S, D] and `mask` [B, S], where True means "may be attended"."""

    states: Tensor
    mask: Tensor

    def select(self, rows: Tensor) -> Memory:
        """Take sentences by row [R]; one may come more than once."""
        return Memory(self.states[rows], self.mask[rows])


@dataclass
class State:
    """Where a decoder stands, as batch-first tensors.

    `fixed` has one row a sentence and does not change while decoding (such as cross-attention keys).
    `moving` has one row a hypothesis: K rows for each sentence, those of a sentence side by side.
    """

    fixed: dict[str, Tensor]
    moving: dict[str, Tensor]

    def reorder(self, rows: Tensor) -> State:
        """Take hypotheses by row, as a beam does after each step; `rows` [R] keeps them with their sentence."""
        return State(self.fixed, _select(self.moving, rows))

    def keep(self, sentences: Tensor, rows: Tensor) -> State:
        """Go on with some sentences (`sentences` [B']) and with their hypotheses (`rows` [B' * K])."""
        return State(_select(self.fixed, sentences), _select(self.moving, rows))

    def expand(self, copies: int) -> State:
        """Give each hypothesis `copies` rows, side by side."""
        return State(self.fixed, {name: rows.repeat_interleave(copies, dim=0) for name, rows in self.moving.items()})


def _select(tensors: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    return {name: tensor.index_select(0, rows) for name, tensor in tensors.items()}


class SequenceToSequence(nn.Module, ABC):
    """An encoder, and a decoder that runs teacher-forced over a whole target or one token at a time."""

    source_embedding: TokenEmbedding
    target_embedding: TokenEmbedding
    output: nn.Linear
    """The last layer: `output.weight` [V, D], `output.bias` [V] or None, from features to logits."""

    randomness: Randomness
    """Where the model's dropout draws its masks."""

    @abstractmethod
    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        """Encode `source` [B, S]; `source_mask` [B, S] is True on real tokens."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        """Features [B, T, D] of every position of `target` [B, T], each seeing only itself and what precedes it."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """The state before the first token, one hypothesis a sentence."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        """Take one token for each hypothesis, `tokens` [R]; give logits [R, V] of the next, and the new state."""

    def features(self, source: Tensor, source_mask: Tensor, target: Tensor, record: Record | None = None) -> Tensor:
        """Teacher-forced features [B, T, D]: what the output layer turns into logits."""
        return self.decode(target, self.encode(source, source_mask, record), record)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """Teacher-forced logits [B, T, V]."""
        logits: Tensor = self.output(self.features(source, source_mask, target))
        return logits

    @property
    def device(self) -> torch.device:
        return self.output.weight.device
