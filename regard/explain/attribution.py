"""Attribution by gradients: how much each word of source and prefix moves the probability of the next token."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from regard.explain.words import Weights
from regard.models.contract import SequenceToSequence
from regard.nn.embedding import TokenEmbedding

METHOD = "input times gradient"
TOKENS_AT_ONCE = 4096
"""Tokens of all copies of a pair that are run together."""


def attribution(model: SequenceToSequence, source: Sequence[int], read: Sequence[int], target: Sequence[int]) -> Shares:
    """How much of each step of `target` [T] is owed to the tokens of `source` [S], and to those `read` before it [T].

    With x the embedding of a token at its place, and y_t the token that is written at step t, the token's part is

        | x ⊙ ∂ log p(y_t) / ∂x |₂

    and shares are parts divided by their sum over both sides, so the rows [T, S] and [T, T] together add up to 1. The
    model's own weights need no gradients. It should be in evaluation mode.
    """
    by_source: Weights = np.zeros((len(target), len(source)), dtype=np.float32)
    by_read: Weights = np.zeros((len(target), len(read)), dtype=np.float32)
    copies = max(1, TOKENS_AT_ONCE // (len(source) + len(read)))
    with torch.inference_mode(mode=False), torch.enable_grad():
        for first in range(0, len(target), copies):
            steps = range(first, min(first + copies, len(target)))
            seen = steps.stop  # no step of these sees more of the target
            parts = _parts(model, source, read[:seen], steps, [target[step] for step in steps])
            by_source[first : steps.stop], by_read[first : steps.stop, :seen] = parts
    total = by_source.sum(axis=1, keepdims=True) + by_read.sum(axis=1, keepdims=True)
    total[total == 0] = 1.0
    return by_source / total, by_read / total


Shares = tuple[Weights, Weights]


def _parts(
    model: SequenceToSequence, source: Sequence[int], read: Sequence[int], steps: Sequence[int], target: Sequence[int]
) -> Shares:
    """The parts [C, S] and [C, T] of some steps, from one pass over as many copies of the pair, one for each step."""
    count = len(steps)
    own, source_places = _with_vectors_of_its_own(model.source_embedding, source, count)
    read_own, read_places = _with_vectors_of_its_own(model.target_embedding, read, count)
    placed = copy.copy(model)
    placed._modules = {**model._modules, "source_embedding": own, "target_embedding": read_own}
    memory = placed.encode(source_places, torch.ones_like(source_places, dtype=torch.bool))
    features = placed.decode(read_places, memory)[range(count), list(steps)]
    # In float64, for 1 - p of a sure model would be lost in float32.
    log_probabilities = placed.output(features).double().log_softmax(dim=-1)[range(count), list(target)]
    vectors = [own.table.weight, read_own.table.weight]
    gradients = torch.autograd.grad(log_probabilities.sum(), vectors)
    by_source, by_read = (
        (vector * gradient).detach().norm(dim=1).view(count, -1).float().cpu().numpy()
        for vector, gradient in zip(vectors, gradients, strict=True)
    )
    return by_source, by_read


def _with_vectors_of_its_own(
    embedding: TokenEmbedding, tokens: Sequence[int], copies: int
) -> tuple[TokenEmbedding, Tensor]:
    """An embedding with a row for each token of each copy, to have gradients by place, and the places [C, T]."""
    rows = embedding.table.weight[list(tokens)].detach().repeat(copies, 1)
    table: nn.Embedding = nn.Embedding.from_pretrained(rows, freeze=False)  # type: ignore[no-untyped-call]
    own = TokenEmbedding(table, False, embedding.positions, embedding.dropout)
    own.scale = embedding.scale
    return own, torch.arange(len(rows), device=rows.device).view(copies, -1)
