"""Self-distillation: a model learns from the moving average of its own weights, besides from the text.

With p what the model says of a token, q what the average says of it, without dropout, and `share` the average's part:

    loss = (1 - share) · CE + share · KL(q || p)

where CE is the smoothed cross-entropy. The average is a calmer and mostly better model than the one that learns, and
what it says tells which words are nearly as good as the one in the text ("mean teacher": Tarvainen and Valpola 2017,
https://arxiv.org/abs/1703.01780; for translation, from checkpoints: Wei et al. 2019, https://aclanthology.org/N19-1192/).
The gradient by the logits is p - share · q - (1 - share) · (smoothed target).
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.contract import SequenceToSequence
from regard.native.rows import taught_gradients_
from regard.train.averaging import MovingAverage
from regard.train.output_layer import Chunks, OutputLayer, OutputLogits, narrow_products, scaled_gradients


def averaged_model(model: SequenceToSequence, average: MovingAverage) -> SequenceToSequence:
    """A model whose weights are the very tensors of a moving average: as that changes, it changes."""
    weights = average.weights()
    instead = {
        id(parameter): nn.Parameter(weights[name], requires_grad=False) for name, parameter in model.named_parameters()
    }
    return copy.deepcopy(model, instead).eval()


def taught_cross_entropy(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    teacher: tuple[Tensor, Tensor, Tensor | None],
    targets: Tensor,
    smoothing: float,
    share: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums over N tokens: what is minimised, and its parts: the smoothed loss, -log p[y], and KL(q || p).

    Features [N, D], weight [V, D], bias [V], those of the teacher likewise, targets [N]. Only the first sum is
    differentiable, and not by what the teacher has.
    """
    device = features.device.type
    dtype = narrow_products(device)
    with torch.autocast(device, enabled=False):
        losses: tuple[Tensor, Tensor, Tensor, Tensor] = _TaughtCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, bias, teacher, targets, smoothing, share, dtype
        )
    return losses


class _TaughtCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        teacher: tuple[Tensor, Tensor, Tensor | None],
        targets: Tensor,
        smoothing: float,
        share: float,
        dtype: torch.dtype | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        chunks = Chunks(len(targets), weight)
        layer = OutputLayer(features, weight, bias, dtype, chunks.most)
        of_teacher = OutputLogits(*teacher, dtype, chunks.most)
        own = 1 - share
        sums = weight.new_zeros(3, dtype=torch.float64)
        for chunk in chunks.slices:
            wanted = targets[chunk, None]
            logits = layer.logits(chunk)
            of_targets = logits.gather(1, wanted)[:, 0]
            normalisers, divergences = taught_gradients_(
                logits, of_teacher.logits(chunk), share, own * smoothing / len(weight)
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
