"""Learning from what a teacher says of every token, besides from the text: the loss.

With p what the model says of a token, q what its teacher says of it, without dropout, and `share` the teacher's part:

    loss = (1 - share) · CE + share · KL(q || p)

where CE is the smoothed cross-entropy. A teacher tells which words are nearly as good as the one in the text, and how
sure one may be (word-level distillation: Hinton et al. 2015, https://arxiv.org/abs/1503.02531; for translation: Kim
and Rush 2016, https://aclanthology.org/D16-1139/). It may be several models, and q is then the mean of what they say;
or the moving average of the model's own weights (`self_distillation.py`); or it was asked before (`sayings.py`).
The gradient by the logits is p - share · q - (1 - share) · (smoothed target).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.models.contract import SequenceToSequence
from regard.models.ensemble import Ensemble
from regard.native.rows import exponentials_, taught_gradients_
from regard.train.output_layer import Chunks, OutputLayer, OutputLogits, narrow_products, scaled_gradients

LastLayer = tuple[Tensor, Tensor, Tensor | None]
"""Of one teacher: features [N, D], and the weight [V, D] and bias [V] that make logits of them."""
LEAST = 1e-30
"""Of a mean of probabilities: its logarithm is a number."""


class Likeliest(NamedTuple):
    """What a teacher says of each token, in short: the likeliest, and that the rest is spread evenly over all."""

    tokens: Tensor  # [N, K]
    probabilities: Tensor  # [N, K]


def last_layers(teacher: SequenceToSequence, features: Tensor) -> list[LastLayer]:
    """Those of each member of a teacher, from its features [N, D], which several members have side by side."""
    members = teacher.each() if isinstance(teacher, Ensemble) else [teacher]
    if isinstance(teacher, Ensemble) and teacher.average != "probabilities":
        raise ValueError("what teachers say is the mean of their probabilities")
    widths = [member.output.in_features for member in members]
    parts = torch.split(features, widths, dim=-1)
    return [
        (part.contiguous(), member.output.weight, member.output.bias)
        for part, member in zip(parts, members, strict=True)
    ]


def taught_cross_entropy(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    teachers: Sequence[LastLayer] | Likeliest,
    targets: Tensor,
    smoothing: float,
    share: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums over N tokens: what is minimised, and its parts: the smoothed loss, -log p[y], and KL(q || p).

    Features [N, D], weight [V, D], bias [V], those of each teacher likewise, or what they said; targets [N]. Only the
    first sum is differentiable, and not by what the teachers have.
    """
    device = features.device.type
    dtype = narrow_products(device)
    with torch.autocast(device, enabled=False):
        losses: tuple[Tensor, Tensor, Tensor, Tensor] = _TaughtCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, bias, teachers, targets, smoothing, share, dtype
        )
    return losses


class MeanLogits:
    """Logits whose softmax is the mean of several models' probabilities, chunk by chunk; those of one are its own."""

    def __init__(self, models: Sequence[LastLayer], dtype: torch.dtype | None, most_rows: int) -> None:
        self._each = [OutputLogits(*model, dtype, most_rows) for model in models]

    def logits(self, rows: slice) -> Tensor:
        """Logits [n, V] of some rows, which the next call may write over."""
        if len(self._each) == 1:
            return self._each[0].logits(rows)
        first, *others = (_probabilities(one.logits(rows)) for one in self._each)
        for other in others:
            first += other
        return first.clamp_min_(LEAST).log_()  # a factor on all of them is none to a softmax

    def gradients_(
        self,
        rows: slice,
        logits: Tensor,
        mean_logits: Tensor,  # noqa: ARG002 - the signature of its kind
        share: float,
        uniform: float,
    ) -> tuple[Tensor, Tensor]:
        """Turn a student's logits [n, V] of some rows into gradients, in place, as `taught_gradients_` says."""
        return taught_gradients_(logits, self.logits(rows), share, uniform)


class _KeptProbabilities:
    """The same of what is kept of a teacher's words: with u the rest of the probability, divided by V,

    q[v] = u + (what is kept of v)
    """

    def __init__(self, said: Likeliest, vocabulary: int) -> None:
        self._tokens, self._vocabulary = said.tokens, vocabulary
        whole = said.probabilities.sum(-1)
        self._kept = said.probabilities / whole.clamp_min(1.0)[:, None]  # they were rounded
        self._rest = (1 - whole).clamp_min(0.0) / vocabulary

    def gradients_(
        self, rows: slice, logits: Tensor, mean_logits: Tensor, share: float, uniform: float
    ) -> tuple[Tensor, Tensor]:
        """Turn a student's logits [n, V], whose means are [n], into gradients, in place, as above."""
        tokens, rest = self._tokens[rows], self._rest[rows].to(logits.dtype)
        kept = self._kept[rows].to(logits.dtype)
        of_tokens = logits.gather(1, tokens)
        largest, sums = exponentials_(logits)
        normalisers = largest + sums.log()
        logits.mul_(sums.reciprocal_()[:, None]).sub_((share * rest + uniform)[:, None])
        logits.scatter_add_(1, tokens, kept * -share)
        likely = kept + rest[:, None]
        others = self._vocabulary - tokens.size(1)
        certainty = likely.xlogy(likely).sum(-1) + others * rest.xlogy(rest)
        agreement = (kept * of_tokens).sum(-1) + self._vocabulary * rest * mean_logits - normalisers
        return normalisers, certainty - agreement


def _probabilities(logits: Tensor) -> Tensor:
    """The softmax of logits [n, V], in place."""
    _, sums = exponentials_(logits)
    return logits.mul_(sums.reciprocal_()[:, None])


class _TaughtCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        teachers: Sequence[LastLayer] | Likeliest,
        targets: Tensor,
        smoothing: float,
        share: float,
        dtype: torch.dtype | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        chunks = Chunks(len(targets), weight)
        layer = OutputLayer(features, weight, bias, dtype, chunks.most)
        of_teachers = (
            _KeptProbabilities(teachers, len(weight))
            if isinstance(teachers, Likeliest)
            else MeanLogits(teachers, dtype, chunks.most)
        )
        own = 1 - share
        sums = weight.new_zeros(3, dtype=torch.float64)
        for chunk in chunks.slices:
            wanted = targets[chunk, None]
            logits = layer.logits(chunk)
            of_targets = logits.gather(1, wanted)[:, 0]
            means = layer.mean_logits[chunk]
            normalisers, divergences = of_teachers.gradients_(
                chunk, logits, means, share, own * smoothing / len(weight)
            )
            likelihood = (normalisers - of_targets).sum(dtype=torch.float64)
            uniform = (normalisers - means).sum(dtype=torch.float64)
            sums[0] += (1 - smoothing) * likelihood + smoothing * uniform
            sums[1] += likelihood
            sums[2] += divergences.sum(dtype=torch.float64)
            logits.scatter_add_(1, wanted, logits.new_full((1, 1), own * (smoothing - 1)).expand_as(wanted))
            layer.differentiate(chunk, logits)
        ctx.save_for_backward(*layer.gradients())
        smoothed, likelihood, divergence = (each.clone() for each in sums.to(weight.dtype))
        ctx.mark_non_differentiable(smoothed, likelihood, divergence)
        return (own * sums[0] + share * sums[2]).to(weight.dtype), smoothed, likelihood, divergence

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled_gradients(ctx.saved_tensors, gradients[0]), None, None, None, None, None
