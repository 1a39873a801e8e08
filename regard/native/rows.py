"""Passes over rows that torch would make one by one: bias, dropout, residual and layer norm together; and others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.native.library import LANES, loaded, pointers, shared_out, takes


def suits(x: Tensor, width: int | None = None) -> bool:
    """Whether `add_norm` and `linear_relu` take x [..., D], the latter for a result of another width."""
    return takes(x) and x.numel() > 0 and (width or x.size(-1)) % LANES == 0


def add_norm(
    x: Tensor, y: Tensor, bias: Tensor, mask: Tensor | None, gain: Tensor, shift: Tensor, epsilon: float
) -> Tensor:
    """LayerNorm(x + mask ⊙ (y + bias)), for x, y and mask [..., D]; bias, gain and shift [D]."""
    normed: Tensor = _AddNorm.apply(x, y, bias, mask, gain, shift, epsilon)  # type: ignore[no-untyped-call]
    return normed


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor, bias: Tensor, mask: Tensor | None, gain: Tensor, shift: Tensor, epsilon: float
    ) -> Tensor:
        x, y = x.contiguous(), y.contiguous()
        width = x.size(-1)
        normal, result = torch.empty_like(x), torch.empty_like(x)
        inverse = x.new_empty(x.numel() // width)
        given = pointers(x, y, bias, mask, gain, shift, normal, inverse, result)
        function = loaded().add_norm_forward
        shared_out(inverse.numel(), lambda begin, end, _: function(begin, end, width, epsilon, *given))
        ctx.save_for_backward(normal, inverse, gain, *([] if mask is None else [mask]))
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        normal, inverse, gain, *masks = ctx.saved_tensors
        mask = masks[0] if masks else None
        gradient = gradients[0].contiguous()
        width = gain.numel()
        by_x = torch.empty_like(normal)
        by_y = by_x if mask is None else torch.empty_like(normal)
        sums = normal.new_zeros(torch.get_num_threads(), 3, width)  # by bias, gain and shift, of each thread
        given = pointers(gradient, normal, inverse, mask, gain, by_x, by_y)
        function = loaded().add_norm_backward
        shared_out(
            inverse.numel(), lambda begin, end, part: function(begin, end, width, *given, *pointers(*sums[part]))
        )
        by_bias, by_gain, by_shift = sums.sum(0)
        return by_x, by_y, by_bias, None, by_gain, by_shift, None


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, x Wᵀ + b), from x [..., D], weight [F, D] and bias [F] to [..., F]."""
    result: Tensor = _LinearRelu.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return result


class _LinearRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        result = F.linear(x, weight)
        width = len(weight)
        function, given = loaded().relu_forward, pointers(bias, result)
        shared_out(result.numel() // width, lambda begin, end, _: function(begin, end, width, *given))
        ctx.save_for_backward(x, weight, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, result = ctx.saved_tensors
        width = len(weight)
        gradient = gradients[0].contiguous()
        before = torch.empty_like(result)
        sums = result.new_zeros(torch.get_num_threads(), width)
        function, given = loaded().relu_backward, pointers(result, gradient, before)
        shared_out(
            result.numel() // width, lambda begin, end, part: function(begin, end, width, *given, sums[part].data_ptr())
        )
        rows = before.view(-1, width)
        return before @ weight, rows.t() @ x.reshape(len(rows), -1), sums.sum(0)


def exponentials_(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Turn logits [N, V] into e^(logit - largest of its row), in place; gives each row's largest and sum, [N]."""
    if not (takes(logits) and logits.is_contiguous()):
        largest = logits.amax(-1)
        return largest, logits.sub_(largest[:, None]).exp_().sum(-1)
    rows, width = logits.shape
    largest, sums = logits.new_empty(rows), logits.new_empty(rows)
    function, given = loaded().exponentials, pointers(logits, largest, sums)
    shared_out(rows, lambda begin, end, _: function(begin, end, width, *given))
    return largest, sums


def consistent_gradients_(logits: Tensor, strength: float, uniform: float) -> tuple[Tensor, Tensor]:
    """Turn pairs of rows a and b, logits [N, 2, V], into gradients, in place; with p and q their softmax, those of

        (log Σ e^a + log Σ e^b) / 2 - uniform Σ (a + b) + strength · J,    J = (KL(p || q) + KL(q || p)) / 2

    Gives log Σ e^a and log Σ e^b, [N, 2], and J, [N].
    """
    pairs, _, width = logits.shape
    if not (takes(logits) and logits.is_contiguous()):
        return _plain_consistent_gradients_(logits, strength, uniform)
    largest, sums, divergences = (logits.new_empty(size) for size in ((pairs, 2), (pairs, 2), (pairs,)))
    room = logits.new_empty(torch.get_num_threads(), -(-width // LANES) * LANES)
    function, found = loaded().consistent_gradients, pointers(largest, sums, divergences)

    def work(begin: int, end: int, part: int) -> None:
        function(begin, end, width, strength, uniform, *pointers(logits, room[part]), *found)

    shared_out(pairs, work)
    return largest + sums.log(), divergences


def _plain_consistent_gradients_(logits: Tensor, strength: float, uniform: float) -> tuple[Tensor, Tensor]:
    """The same in torch.

    With d = a - b: J = (Σ p d - Σ q d) / 2, and its gradients by a and b are (p (d - Σ p d) + p - q) / 2 and
    (q (Σ q d - d) + q - p) / 2.
    """
    differences = logits[:, 0] - logits[:, 1]
    largest, sums = exponentials_(logits.flatten(0, 1))
    probabilities = logits.div_(sums.view(-1, 2, 1))
    means = torch.einsum("nv,nkv->nk", differences, probabilities)
    turned = (probabilities.flip(1) * (strength / 2)).add_(uniform)
    differences *= strength / 2
    probabilities[:, 0] *= differences + (0.5 + strength / 2 * (1 - means[:, :1]))
    probabilities[:, 1] *= (0.5 + strength / 2 * (1 + means[:, 1:])) - differences
    probabilities -= turned
    return (largest + sums.log()).view(-1, 2), (means[:, 0] - means[:, 1]) / 2


def taught_gradients_(logits: Tensor, of_teacher: Tensor, share: float, uniform: float) -> tuple[Tensor, Tensor]:
    """Turn logits a [N, V] into gradients, in place; with q the softmax of a teacher's logits [N, V], those of

        log Σ e^a - uniform Σ a - share Σ q a

    Gives log Σ e^a and KL(q || softmax(a)), [N]; the teacher's logits are lost.
    """
    if not (takes(logits) and takes(of_teacher) and logits.is_contiguous() and of_teacher.is_contiguous()):
        return _plain_taught_gradients_(logits, of_teacher, share, uniform)
    rows, width = logits.shape
    largest, sums, divergences = (logits.new_empty(rows) for _ in range(3))
    function, given = loaded().taught_gradients, pointers(logits, of_teacher, largest, sums, divergences)
    shared_out(rows, lambda begin, end, _: function(begin, end, width, share, uniform, *given))
    return largest + sums.log(), divergences


def _plain_taught_gradients_(logits: Tensor, of_teacher: Tensor, share: float, uniform: float) -> tuple[Tensor, Tensor]:
    """The same in torch."""
    normalisers = logits.logsumexp(-1)
    log_probabilities = logits.sub_(normalisers[:, None])
    log_of_teacher = of_teacher.log_softmax(-1)
    probabilities = log_of_teacher.exp()
    divergences = (probabilities * (log_of_teacher - log_probabilities)).sum(-1)
    log_probabilities.exp_().sub_(probabilities.mul_(share).add_(uniform))
    return normalisers, divergences
