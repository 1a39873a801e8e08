"""Learning from what a teacher says of every token, besides from the text: the loss.

With p what the model says of a token, q what its teacher says of it, without dropout, and `share` the teacher's part:

    loss = (1 - share) · CE + share · KL(q || p)

where CE is the smoothed cross-entropy. A teacher tells which words are nearly as good as the one in the text, and how
sure one may be (word-level distillation: Hinton et al. 2015, https://arxiv.org/abs/1503.02531; for translation: Kim
and Rush 2016, https://aclanthology.org/D16-1139/). It may be several models, and q is then the mean of what they say;
or the moving average of the model's own weights (`self_distillation.py`).
The gradient by the logits is p - share · q - (1 - share) · (smoothed target).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.models.contract import SequenceToSequence
from regard.models.ensemble import Ensemble
from regard.native.rows import exponentials_, taught_gradients_
from regard.train.output_layer import Chunks, OutputLayer, OutputLogits, narrow_products, scaled_gradients

Said = tuple[Tensor, Tensor, Tensor | None]
"""What one teacher says, before its last layer's product: features [N, D], weight [V, D], bias [V]."""
LEAST = 1e-30
"""Of a mean of probabilities: its logarithm is a number."""


def said_by(teacher: SequenceToSequence, features: Tensor) -> list[Said]:
    """What each member of a teacher says, from its features [N, D], which several members have side by side."""
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
    teachers: Sequence[Said],
    targets: Tensor,
    smoothing: float,
    share: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums over N tokens: what is minimised, and its parts: the smoothed loss, -log p[y], and KL(q || p).

    Features [N, D], weight [V, D], bias [V], those of each teacher likewise, targets [N]. Only the first sum is
    differentiable, and not by what the teachers have.
    """
    device = features.device.type
    dtype = narrow_products(device)
    with torch.autocast(device, enabled=False):
        losses: tuple[Tensor, Tensor, Tensor, Tensor] = _TaughtCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, bias, teachers, targets, smoothing, share, dtype
        )
    return losses


class _MeanLogits:
    """Logits whose softmax is the mean of several models' probabilities, chunk by chunk; those of one are its own."""

    def __init__(self, models: Sequence[Said], dtype: torch.dtype | None, most_rows: int) -> None:
        self._each = [OutputLogits(*model, dtype, most_rows) for model in models]

    def logits(self, rows: slice) -> Tensor:
        """Logits [n, V] of some rows, which the next call may write over."""
        if len(self._each) == 1:
            return self._each[0].logits(rows)
        first, *others = (_probabilities(one.logits(rows)) for one in self._each)
        for other in others:
            first += other
        return first.clamp_min_(LEAST).log_()  # a factor on all of them is none to a softmax


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
        teachers: Sequence[Said],
        targets: Tensor,
        smoothing: float,
        share: float,
        dtype: torch.dtype | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        chunks = Chunks(len(targets), weight)
        layer = OutputLayer(features, weight, bias, dtype, chunks.most)
        of_teachers = _MeanLogits(teachers, dtype, chunks.most)
        own = 1 - share
        sums = weight.new_zeros(3, dtype=torch.float64)
        for chunk in chunks.slices:
            wanted = targets[chunk, None]
            logits = layer.logits(chunk)
            of_targets = logits.gather(1, wanted)[:, 0]
            normalisers, divergences = taught_gradients_(
                logits, of_teachers.logits(chunk), share, own * smoothing / len(weight)
            )
            likelihood = (normalisers - of_targets).sum(dtype=torch.float64)
            uniform = (normalisers - layer.mean_logits[chunk]).sum(dtype=torch.float64)
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
