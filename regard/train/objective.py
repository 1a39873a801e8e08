"""The training objective: label-smoothed cross-entropy, over real tokens only, in chunks of rows.

For a target y among V tokens with probabilities p = softmax(logits) and smoothing ε, as torch's cross_entropy has it:

    loss = -(1 - ε) log p[y] - (ε / V) Σ_v log p[v]

The gradient by the logits is p - (1 - ε) onehot(y) - ε / V. The logits of a batch are by far its largest tensor;
here a chunk of them is made, differentiated and forgotten while it is in the cache, and the uniform part ε / V, which
needs no logits at all, is added in closed form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batches import Batch
from regard.data.vocabulary import PAD_ID
from regard.models.contract import SequenceToSequence
from regard.native.multiplying import lay_out, multiply
from regard.native.rows import exponentials_
from regard.train.consistency import consistent_cross_entropy
from regard.train.narrow_loss import narrow_cross_entropy
from regard.train.output_layer import scaled_gradients, slices
from regard.train.risk import weighted_likelihood
from regard.train.sayings import Sayings, Teacher
from regard.train.teacher_forcing import features_at, real_tokens
from regard.train.teaching import LastLayer, last_layers, taught_cross_entropy

CHUNK_ELEMENTS = 1 << 21
"""Logits in a chunk: enough rows for a fast matrix product, and 8 MB stay in the cache between the passes over them."""


class Loss(NamedTuple):
    """Sums over the real target tokens of a batch; divide by `tokens` for means."""

    total: Tensor
    """What is minimised, differentiable."""
    smoothed: Tensor
    """The smoothed cross-entropy: all of the total, or what is compared with another pass aside, and unweighted."""
    negative_log_likelihood: Tensor
    """-Σ log p[y], without smoothing: what perplexity is made of."""
    tokens: int
    divergence: Tensor | None = None
    """How far two passes disagree, (KL(p || q) + KL(q || p)) / 2, or the model and its teacher, KL(q || p); without its
    strength or share."""


class Objective(nn.Module):
    """The loss of a batch, as a module: what several processes share.

    A batch that has each row twice, side by side (`Batch.twice`), is judged by its `consistency`, too; and where a
    teacher is at hand, by how far the model is from that, which counts for a `share` of the loss. With `weights` it is
    a batch of candidates, and how likely these are is judged by that alone.
    """

    def __init__(
        self,
        model: SequenceToSequence,
        smoothing: float,
        consistency: float = 0.0,
        share: float = 0.0,
        risk: float = 0.0,
    ) -> None:
        super().__init__()
        self.model, self.smoothing, self.consistency = model, smoothing, consistency
        self.share, self.risk = share, risk

    def forward(self, batch: Batch, teacher: Teacher | None = None, weights: Tensor | None = None) -> Loss:
        if weights is not None:
            return candidates_loss(self.model, batch, weights, self.risk)
        if batch.doubled:
            return consistent_loss(self.model, batch, self.smoothing, self.consistency)
        if teacher is not None:
            return taught_loss(self.model, teacher, batch, self.smoothing, self.share)
        return batch_loss(self.model, batch, self.smoothing)


def batch_loss(model: SequenceToSequence, batch: Batch, smoothing: float) -> Loss:
    """The loss of a teacher-forced pass over a batch."""
    real = real_tokens(batch)
    targets = batch.target_output.flatten().index_select(0, real)
    smoothed, negative_log_likelihood = smoothed_cross_entropy(
        features_at(model, batch, real), model.output.weight, model.output.bias, targets, smoothing
    )
    return Loss(smoothed, smoothed, negative_log_likelihood, len(targets))


def taught_loss(model: SequenceToSequence, teacher: Teacher, batch: Batch, smoothing: float, share: float) -> Loss:
    """The loss of a pass over a batch that a teacher sees, too, or has seen: it says its `share` of the target."""
    real = real_tokens(batch)
    targets = batch.target_output.flatten().index_select(0, real)
    total, smoothed, negative_log_likelihood, divergence = taught_cross_entropy(
        features_at(model, batch, real),
        model.output.weight,
        model.output.bias,
        teacher.of(batch) if isinstance(teacher, Sayings) else _last_layers(teacher, batch, real),
        targets,
        smoothing,
        share,
    )
    return Loss(total, smoothed, negative_log_likelihood, len(targets), divergence)


@torch.no_grad()
def _last_layers(teacher: SequenceToSequence, batch: Batch, places: Tensor) -> list[LastLayer]:
    return last_layers(teacher, features_at(teacher, batch, places))


def candidates_loss(model: SequenceToSequence, batch: Batch, weights: Tensor, strength: float) -> Loss:
    """What a batch of candidates, with weights [B], adds to the loss; none of its tokens is a token of the text."""
    real = real_tokens(batch)
    total = strength * weighted_likelihood(
        features_at(model, batch, real),
        model.output.weight,
        model.output.bias,
        batch.target_output.flatten().index_select(0, real),
        weights.index_select(0, real // batch.target_output.size(1)),
    )
    nothing = torch.zeros_like(total.detach())
    return Loss(total, nothing, nothing, 0)


def consistent_loss(model: SequenceToSequence, batch: Batch, smoothing: float, strength: float) -> Loss:
    """The loss of two passes over the rows of a batch, which has each twice; tokens count once."""
    length = batch.target_output.size(1)
    first_rows = batch.target_output[::2]
    rows, places = (first_rows != PAD_ID).nonzero(as_tuple=True)
    first = 2 * rows * length + places
    both = torch.stack([first, first + length], dim=1).flatten()
    total, smoothed, negative_log_likelihood, divergence = consistent_cross_entropy(
        features_at(model, batch, both),
        model.output.weight,
        model.output.bias,
        first_rows[rows, places],
        smoothing,
        strength,
    )
    return Loss(total, smoothed, negative_log_likelihood, len(rows), divergence)


def smoothed_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Sums of the smoothed loss and of -log p[y], for features [N, D], weight [V, D], bias [V], targets [N]."""
    if not (torch.is_grad_enabled() and (features.requires_grad or weight.requires_grad)):
        return _without_gradient(features, weight, bias, targets, smoothing)
    if torch.is_autocast_enabled(features.device.type):
        narrow = torch.get_autocast_dtype(features.device.type)
        return narrow_cross_entropy(features, weight, bias, targets, smoothing, narrow)
    losses: tuple[Tensor, Tensor] = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        features, weight, bias, targets, smoothing
    )
    return losses


def _chunk_rows(vocabulary: int) -> int:
    return max(1, CHUNK_ELEMENTS // vocabulary)


def _without_gradient(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    smoothed = features.new_zeros(())
    likelihood = features.new_zeros(())
    for chunk in slices(len(targets), _chunk_rows(len(weight))):
        log_probabilities = F.linear(features[chunk], weight, bias).log_softmax(-1)
        of_targets = log_probabilities.gather(1, targets[chunk, None]).sum()
        smoothed -= (1 - smoothing) * of_targets + smoothing * log_probabilities.mean(-1).sum()
        likelihood -= of_targets
    return smoothed, likelihood


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        vocabulary = len(weight)
        uniform = smoothing / vocabulary
        features_gradient = torch.empty_like(features)
        turned_weight_gradient = torch.zeros_like(weight.t(), memory_format=torch.contiguous_format)
        bias_gradient = torch.zeros_like(bias) if bias is not None else None
        smoothed = features.new_zeros((), dtype=torch.float64)
        likelihood = features.new_zeros((), dtype=torch.float64)
        # Σ_v logits[v] = features · Σ_v weight[v] + Σ_v bias[v]
        weight_sum = weight.sum(0)
        logits_sum = features @ weight_sum + (bias.sum() if bias is not None else 0.0)
        buffer = features.new_empty(_chunk_rows(vocabulary), vocabulary)
        forward, back = lay_out(weight.t()), lay_out(weight)
        for chunk in slices(len(targets), _chunk_rows(vocabulary)):
            rows, wanted = features[chunk], targets[chunk, None]
            logits = buffer[: len(rows)]
            multiply(rows, forward, logits)
            if bias is not None:
                logits += bias
            target_logits = logits.gather(1, wanted).squeeze(1)
            largest, sums = exponentials_(logits)  # the probabilities, once divided by the sums
            normaliser = largest + sums.log()
            log_likelihood = target_logits - normaliser
            mean_log_probability = logits_sum[chunk] / vocabulary - normaliser
            likelihood -= log_likelihood.sum(dtype=torch.float64)
            smoothed -= (1 - smoothing) * log_likelihood.sum(dtype=torch.float64)
            smoothed -= smoothing * mean_log_probability.sum(dtype=torch.float64)
            logits.scatter_add_(1, wanted, sums[:, None] * (smoothing - 1))
            share = sums.reciprocal_()[:, None]
            multiply(logits, back, features_gradient[chunk]).mul_(share)
            multiply((rows * share).t(), logits, turned_weight_gradient, keep=True)
            if bias_gradient is not None:
                bias_gradient += logits.t() @ share[:, 0]
        weight_gradient = turned_weight_gradient.t().contiguous()
        features_gradient -= uniform * weight_sum
        weight_gradient -= uniform * features.sum(0)
        if bias_gradient is not None:
            bias_gradient -= uniform * len(targets)
            ctx.save_for_backward(features_gradient, weight_gradient, bias_gradient)
        else:
            ctx.save_for_backward(features_gradient, weight_gradient)
        likelihood = likelihood.to(features.dtype)
        ctx.mark_non_differentiable(likelihood)
        return smoothed.to(features.dtype), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled_gradients(ctx.saved_tensors, gradients[0]), None, None
