"""Minimum risk training: likely translations of a source, and how the model is to think of each by what it costs.

Cross-entropy asks for the text's own words, one by one. Risk asks for translations that are good as a whole: with some
candidates u for a source, found by the model itself, their cost(u) from 0 to 1, and the model's log-probability of each
divided by its length, so that long ones are not unlikely for that alone,

    risk = Σ_u p(u) cost(u),    p = softmax over the candidates of log P(u) / |u|

(Shen et al. 2016, https://aclanthology.org/P16-1159/; the form here: Edunov et al. 2018, https://aclanthology.org/N18-1033/).
Its gradient by log P(u) is p(u) (cost(u) - risk) / |u|: of the candidates, those that cost less than the mean become
likelier. P is what the search found, without dropout, so that one pass over the candidates has the gradient; this pass
has dropout as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Batch, cut_into_batches
from regard.data.vocabulary import PAD_ID
from regard.models.contract import SequenceToSequence
from regard.native.rows import exponentials_
from regard.train.output_layer import Chunks, OutputLayer, narrow_products, scaled_gradients


class Candidate(NamedTuple):
    """One translation of a source."""

    tokens: Sequence[int]
    """Without marks."""
    log_probability: float
    """Of all tokens and the end mark."""
    cost: float
    """From 0, as good as can be, to 1."""


FindCandidates = Callable[[SequenceToSequence, Batch], list[list[Candidate]]]
"""Searches candidates for each row of a batch with a model, as it is, and scores them; handed in, for training knows
nothing of search."""


class Candidates(NamedTuple):
    """The candidates of a batch as batches of their own, and what the risk wants of them."""

    batches: list[tuple[Batch, Tensor]]
    """Each with weights [rows]: the gradient of the risk by a row's log-probability, below 0 where it is to rise."""
    risk: float
    """The sum over the sources, each times its number of target tokens, as a cross-entropy counts."""


def weigh(batch: Batch, found: Sequence[Sequence[Candidate]]) -> Candidates:
    """Make batches of candidates of similar lengths, none of more tokens than the batch that they are for.

    Where all candidates of a source cost alike, the risk does not depend on them, and they are left out. A source's
    risk counts as often as its text has tokens; it is 1 where nothing was found.
    """
    total = 0.0
    weighed: list[tuple[int, Sequence[int], float]] = []
    lengths = (batch.target_output != PAD_ID).sum(1).tolist()
    for row, (candidates, length) in enumerate(zip(found, lengths, strict=True)):
        risk, gradient = _risk(candidates) if candidates else (1.0, [])
        total += length * risk
        if length and len({candidate.cost for candidate in candidates}) > 1:
            weighed += [(row, each.tokens, length * weight) for each, weight in zip(candidates, gradient, strict=True)]
    return Candidates(_batches(batch, weighed), total)


def _risk(candidates: Sequence[Candidate]) -> tuple[float, list[float]]:
    """The risk of a source, and its gradient by each candidate's log-probability."""
    lengths = [len(candidate.tokens) + 1 for candidate in candidates]
    scores = [candidate.log_probability / length for candidate, length in zip(candidates, lengths, strict=True)]
    shares = torch.tensor(scores, dtype=torch.float64).softmax(0).tolist()
    risk = sum(share * candidate.cost for share, candidate in zip(shares, candidates, strict=True))
    gradient = [
        share * (candidate.cost - risk) / length
        for share, candidate, length in zip(shares, candidates, lengths, strict=True)
    ]
    return risk, gradient


def _batches(batch: Batch, weighed: Sequence[tuple[int, Sequence[int], float]]) -> list[tuple[Batch, Tensor]]:
    """Batches of rows of another one, each with other target tokens, and with weights [rows]."""
    sources = batch.source_mask.sum(1).cpu().numpy()[[row for row, _, _ in weighed]]
    targets = np.array([len(tokens) + 1 for _, tokens, _ in weighed], dtype=np.int64)
    budget = max(batch.source.numel(), batch.target_output.numel())
    made = []
    for places in cut_into_batches(sources, targets, budget) if weighed else []:
        rows, tokens, weights = zip(*(weighed[place] for place in places), strict=True)
        device = batch.source.device
        own = batch.with_targets(torch.tensor(rows, device=device), tokens)
        made.append((own, torch.tensor(weights, device=device)))
    return made


def weighted_likelihood(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor
) -> Tensor:
    """Σ_n weights[n] log p_n[y_n], differentiable, for features [N, D], weight [V, D], bias [V], targets [N]."""
    device = features.device.type
    dtype = narrow_products(device)
    with torch.autocast(device, enabled=False):
        total: Tensor = _WeightedLikelihood.apply(features, weight, bias, targets, weights, dtype)  # type: ignore[no-untyped-call]
    return total


class _WeightedLikelihood(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them.

    The gradient by the logits of token n is weights[n] (onehot(y_n) - p_n).
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        weights: Tensor,
        dtype: torch.dtype | None,
    ) -> Tensor:
        chunks = Chunks(len(targets), weight)
        largest_weight = float(weights.abs().max())
        layer = OutputLayer(features, weight, bias, dtype, chunks.most, growth=largest_weight or 1.0)
        total = weight.new_zeros((), dtype=torch.float64)
        for chunk in chunks.slices:
            wanted, weighed = targets[chunk, None], weights[chunk, None].to(weight.dtype)
            logits = layer.logits(chunk)
            of_targets = logits.gather(1, wanted)
            largest, sums = exponentials_(logits)
            total += (weighed * (of_targets - (largest + sums.log())[:, None])).sum(dtype=torch.float64)
            logits.mul_(-weighed / sums[:, None]).scatter_add_(1, wanted, weighed)
            layer.differentiate(chunk, logits)
        ctx.save_for_backward(*layer.gradients())
        return total.to(weight.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled_gradients(ctx.saved_tensors, gradients[0]), None, None, None
