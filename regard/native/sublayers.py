"""Whole sub-layers in C, for training on one thread: attention or feed-forward, residual connection, layer norm."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.native.attention import Shape, padded, parts_of, shape_of
from regard.native.forms import Form, form_of_products
from regard.native.library import (
    FLOAT,
    LANES,
    LONG,
    POINTER,
    loaded,
    matrix_product,
    multiplies_fast,
    pointers,
    takes,
)

CHUNK_ROWS = 256
"""As in sublayers.c."""


class _Linear(ctypes.Structure):
    _fields_ = tuple((name, POINTER) for name in ("weight", "bias", "by_weight", "by_bias"))


class _Products(ctypes.Structure):
    _fields_ = (("library", POINTER), ("form", ctypes.c_int))


class _Residual(ctypes.Structure):
    _fields_ = (
        *((name, POINTER) for name in ("gain", "shift", "by_gain", "by_shift", "dropout", "normal", "inverse")),
        ("epsilon", FLOAT),
        ("before", ctypes.c_int),
    )


class _Attention(ctypes.Structure):
    _fields_ = (
        ("products", _Products),
        *((name, LONG) for name in ("sentences", "length", "source", "width")),
        ("shape", Shape),
        *((name, POINTER) for name in ("mask", "x", "memory")),
        *((name, _Linear) for name in ("first", "second", "output")),
        ("residual", _Residual),
        *((name, POINTER) for name in ("made", "made_of_memory", "weights", "attended", "space", "result")),
        *((name, POINTER) for name in ("gradient", "by_x", "by_memory")),
    )


class _FeedForward(ctypes.Structure):
    _fields_ = (
        ("products", _Products),
        *((name, LONG) for name in ("rows", "width", "inner_width")),
        ("x", POINTER),
        *((name, _Linear) for name in ("inner", "outer")),
        ("residual", _Residual),
        *((name, POINTER) for name in ("hidden", "space", "result", "gradient", "by_x")),
    )


@dataclass(frozen=True)
class Norm:
    """The residual connection of a sub-layer: LayerNorm(x + dropout ⊙ f(x)), or x + dropout ⊙ f(LayerNorm(x))."""

    gain: Tensor
    shift: Tensor
    epsilon: float
    before: bool
    """Whether the norm comes before the sub-layer."""
    dropout: Tensor | None
    """Factors [B, T, D] on the sub-layer's output y, or None."""


def suits_sublayer(x: Tensor, *widths: int) -> bool:
    """Whether sub-layers in C take x [B, T, D], with inner layers of these widths."""
    return (
        takes(x)
        and x.numel() > 0
        and all(width % LANES == 0 for width in (x.size(-1), *widths))
        and torch.get_num_threads() == 1
        and (multiplies_fast() or matrix_product() is not None)
    )


@dataclass(frozen=True)
class AttentionWeights:
    """Weights [outputs, D] and biases [outputs] of an attention sub-layer.

    `first` makes queries, or queries, keys and values of x; `second` keys and values of the memory.
    """

    first: tuple[Tensor, Tensor]
    second: tuple[Tensor, Tensor] | None
    output: tuple[Tensor, Tensor]


def attention_sublayer(
    x: Tensor,
    memory: Tensor | None,
    weights: AttentionWeights,
    norm: Norm,
    heads: int,
    mask: Tensor | None,
    scale: float,
    rotation: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Attention of x [B, T, D] to itself, or to memory [B, S, D], and the residual connection around it: [B, T, D].

    `mask` broadcasts to [B, H, T, S] and is True where a query may attend; `rotation` is that of `self_attention`.
    """
    second = weights.second or (None, None)
    tensors = (*weights.first, *second, *weights.output, norm.gain, norm.shift)
    settings = (norm.dropout, (norm.epsilon, norm.before), heads, mask, scale, rotation)
    result: Tensor = _AttentionFunction.apply(x, memory, *tensors, *settings)  # type: ignore[no-untyped-call]
    return result


class _AttentionFunction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        memory: Tensor | None,
        *arguments: Any,
    ) -> Tensor:
        *tensors, dropout, norm, heads, mask, scale, rotation = arguments
        x = x.contiguous()
        memory = None if memory is None else memory.contiguous()
        sentences, length, width = x.shape
        made = x.new_empty(sentences, length, len(tensors[0]))
        made_of_memory = None if memory is None else x.new_empty(*memory.shape[:2], 2 * width)
        source = length if memory is None else memory.size(1)
        attended, normal, result = (torch.empty_like(x) for _ in range(3))
        shape = shape_of(*parts_of(made, made_of_memory), attended, heads, mask, scale, rotation)
        ctx.form = _form()
        scores = x.new_empty(sentences, heads, length, padded(source))
        inverse = x.new_empty(sentences * length)
        panels = _laid_out_size(ctx.form, *(each.t() for each in _matrices(tensors)))
        space = x.new_empty(2 * _chunk(length) * width + panels)
        kept = (x, memory, *tensors, dropout, mask, made, made_of_memory, scores, attended, normal, inverse)
        described = _describe_attention(kept, [None] * 8, ctx.form, shape, norm, space, result, None, None, None)
        loaded().attention_sublayer_forward(ctypes.byref(described))
        ctx.save_for_backward(*kept)
        ctx.shape, ctx.norm, ctx.rotation = shape, norm, rotation
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept = ctx.saved_tensors
        x, memory, *tensors = kept[:10]
        gradient = gradients[0].contiguous()
        length, width = x.shape[1:]
        by_x = torch.empty_like(x)
        by_memory = None if memory is None else torch.empty_like(memory)
        by_tensors = [_gradient_space(tensor) for tensor in tensors]
        rows = _chunk(length)
        source_rows = 0 if memory is None else rows // length * memory.size(1)
        panels = _laid_out_size(ctx.form, *_matrices(tensors))
        space = x.new_empty(rows * 6 * width + source_rows * 2 * width + panels)
        ends = (None, gradient, by_x, by_memory)
        described = _describe_attention(kept, by_tensors, ctx.form, ctx.shape, ctx.norm, space, *ends)
        loaded().attention_sublayer_backward(ctypes.byref(described))
        return by_x, by_memory, *by_tensors, *[None] * 6


def _describe_attention(
    kept: Any, by: list[Any], form: Form, shape: Shape, norm: tuple[float, bool], space: Tensor, *ends: Tensor | None
) -> _Attention:
    x, memory, *tensors = kept[:10]
    dropout, mask, made, made_of_memory, scores, attended, normal, inverse = kept[10:]
    result, gradient, by_x, by_memory = ends
    sentences, length, width = x.shape
    return _Attention(
        _products(form),
        sentences,
        length,
        length if memory is None else memory.size(1),
        width,
        shape,
        *pointers(mask, x, memory),
        *(_Linear(*pointers(*tensors[at : at + 2], *by[at : at + 2])) for at in (0, 2, 4)),
        _Residual(*pointers(*tensors[6:], *by[6:], dropout, normal, inverse), *norm),
        *pointers(made, made_of_memory, scores, attended, space, result, gradient, by_x, by_memory),
    )


def feed_forward_sublayer(x: Tensor, inner: tuple[Tensor, Tensor], outer: tuple[Tensor, Tensor], norm: Norm) -> Tensor:
    """max(0, x W₁ᵀ + b₁) W₂ᵀ + b₂ and the residual connection around it, from x [B, T, D] to [B, T, D]."""
    tensors = (*inner, *outer, norm.gain, norm.shift)
    result: Tensor = _FeedForwardFunction.apply(x, *tensors, norm.dropout, (norm.epsilon, norm.before))  # type: ignore[no-untyped-call]
    return result


class _FeedForwardFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *arguments: Any) -> Tensor:
        *tensors, dropout, norm = arguments
        x = x.contiguous()
        hidden = x.new_empty(*x.shape[:-1], len(tensors[0]))
        normal, result = torch.empty_like(x), torch.empty_like(x)
        inverse = x.new_empty(x.shape[:-1])
        ctx.form = _form()
        panels = _laid_out_size(ctx.form, *(each.t() for each in _matrices(tensors)))
        space = x.new_empty(2 * CHUNK_ROWS * x.size(-1) + panels)
        kept = (x, *tensors, dropout, hidden, normal, inverse)
        described = _describe_feed_forward(kept, [None] * 6, ctx.form, norm, space, result, None, None)
        loaded().feed_forward_sublayer_forward(ctypes.byref(described))
        ctx.save_for_backward(*kept)
        ctx.norm = norm
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept = ctx.saved_tensors
        x, *tensors = kept[:7]
        gradient, by_x = gradients[0].contiguous(), torch.empty_like(x)
        by_tensors = [_gradient_space(tensor) for tensor in tensors]
        panels = _laid_out_size(ctx.form, *_matrices(tensors))
        space = x.new_empty(CHUNK_ROWS * 2 * (x.size(-1) + len(tensors[0])) + panels)
        described = _describe_feed_forward(kept, by_tensors, ctx.form, ctx.norm, space, None, gradient, by_x)
        loaded().feed_forward_sublayer_backward(ctypes.byref(described))
        return by_x, *by_tensors, None, None


def _describe_feed_forward(
    kept: Any, by: list[Any], form: Form, norm: tuple[float, bool], space: Tensor, *ends: Tensor | None
) -> _FeedForward:
    x, *tensors = kept[:7]
    dropout, hidden, normal, inverse = kept[7:]
    width = x.size(-1)
    return _FeedForward(
        _products(form),
        x.numel() // width,
        width,
        len(tensors[0]),
        x.data_ptr(),
        *(_Linear(*pointers(*tensors[at : at + 2], *by[at : at + 2])) for at in (0, 2)),
        _Residual(*pointers(*tensors[4:], *by[4:], dropout, normal, inverse), *norm),
        *pointers(hidden, space, *ends),
    )


def _form() -> Form:
    """The form of our own products; a library's are of floats."""
    return form_of_products() if multiplies_fast() else Form.FLOATS


def _products(form: Form) -> _Products:
    """The library's product, where our own is not the faster one; or our own, in that form."""
    return _Products(None if multiplies_fast() else matrix_product(), form)


def _chunk(length: int) -> int:
    """Rows that go through a sub-layer at a time: whole sentences."""
    return max(1, CHUNK_ROWS // length) * length


def _matrices(tensors: Sequence[Tensor | None]) -> list[Tensor]:
    """The weights of a sub-layer, without its biases and its norm."""
    return [tensor for tensor in tensors if tensor is not None and tensor.dim() > 1]


def _laid_out_size(form: Form, *factors: Tensor) -> int:
    """Numbers that right factors [K, N] take in panels, or [K, N] itself for a library."""
    return sum(loaded().room_for_panels(*factor.shape, form) for factor in factors)


def _gradient_space(tensor: Tensor | None) -> Tensor | None:
    """Where a gradient goes: a weight's is written, a vector's is added to."""
    if tensor is None:
        return None
    return torch.empty_like(tensor) if tensor.dim() > 1 else torch.zeros_like(tensor)
