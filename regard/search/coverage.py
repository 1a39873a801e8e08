"""The coverage penalty of GNMT (Wu et al., 2016): outputs that leave a part of the source unattended score less.

cp(x, y) = beta * sum over source tokens i of log(min(sum over output tokens j of p(i, j), 1))

with p(i, j) the cross-attention of step j to source token i: here the mean over all layers and heads. It is 0 where
every source token got attention of 1 or more in sum, and below 0 elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import InputError
from regard.models.contract import Memory, SequenceToSequence
from regard.search.engine import SearchState

LEAST = 1e-6
"""Attention below this counts as this: the logarithm stays finite."""


@dataclass
class CoveredState:
    """A decoder's state, and the attention [R, S] that each hypothesis has given so far; 1 on padding."""

    inner: SearchState
    coverage: Tensor

    def reorder(self, rows: Tensor) -> CoveredState:
        return CoveredState(self.inner.reorder(rows), self.coverage[rows])

    def keep(self, sentences: Tensor, rows: Tensor) -> CoveredState:
        return CoveredState(self.inner.keep(sentences, rows), self.coverage[rows])


class CoverageEngine:
    """The model's own steps, their cross-attention added up."""

    def __init__(self, model: SequenceToSequence) -> None:
        self._model = model

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        return self._model.encode(source, source_mask)

    def start(self, memory: Memory) -> CoveredState:
        return CoveredState(self._model.start(memory), (~memory.mask).float())

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, CoveredState]:
        recorded: list[Tensor] = []

        def record(name: str, weights: Tensor) -> None:
            if name.startswith("cross."):
                recorded.append(weights.float().mean(dim=1))  # [B, K, S]

        logits, inner = self._model.step(tokens, state.inner, record)
        if not recorded:
            raise InputError(
                f"the model ({type(self._model).__name__}) gives no cross-attention, so there is no coverage penalty "
                "for it; set `search.coverage_penalty` to 0"
            )
        attention = torch.stack(recorded).mean(dim=0).reshape(len(tokens), -1)
        return logits, CoveredState(inner, state.coverage + attention)


def coverage_penalties(state: object, rows: Tensor, beta: float) -> list[float]:
    """cp of the hypotheses in these rows [R], each 0 or less; 0 for a search that adds up no attention."""
    if not isinstance(state, CoveredState):
        return [0.0] * len(rows)
    values: list[float] = (beta * state.coverage[rows].double().clamp(LEAST, 1).log().sum(dim=1)).tolist()
    return values
