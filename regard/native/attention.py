"""Attention over many short sequences: all heads of a sentence at once, from and to the layout of linear layers."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.native.library import FLOAT, LANES, POINTER, loaded, pointers, shared_out, takes

MAX_KEYS = 64
"""Longer sequences are better served by torch; kernels.c could take 128."""
MAX_WIDTH = 128


class Shape(ctypes.Structure):
    """How queries, keys, values and mask lie in memory, as kernels.h has it."""

    _fields_ = (
        *((name, ctypes.c_long) for name in ("heads", "queries", "keys", "width", "padded")),
        *(
            (f"{what}_{step}", ctypes.c_long)
            for what, step in itertools.product(("query", "key", "value", "result"), ("sentence", "row"))
        ),
        *((f"mask_{step}", ctypes.c_long) for step in ("sentence", "head", "query", "key")),
        ("scale", FLOAT),
        *((name, POINTER) for name in ("straight", "crossed")),
    )


def suits(query: Tensor, key: Tensor, heads: int) -> bool:
    """Whether the kernel takes queries [B, Q, D] and keys [B, K, D] of so many heads."""
    width = query.size(-1) // heads
    return (
        takes(query)
        and width % LANES == 0
        and width <= MAX_WIDTH
        and 0 < key.size(1) <= MAX_KEYS
        and 0 < query.size(1) <= MAX_KEYS
        and query.size(0) > 0
    )


def self_attention(
    packed: Tensor,
    bias: Tensor,
    heads: int,
    mask: Tensor | None,
    scale: float,
    rotation: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """softmax(scale Q Kᵀ) V of each head, where Q, K and V [B, T, D] are the parts of packed [B, T, 3 D] + bias [3 D].

    `mask` broadcasts to [B, H, T, T] and is True where a query may attend. With `rotation`, tables [T or more, D / H]
    of cosines and sines as `Rotation` makes them, queries and keys are turned first. Gives [B, T, D].
    """
    arguments = (packed, bias, None, None, heads, mask, scale, rotation)
    attended: Tensor = _Attention.apply(*arguments)  # type: ignore[no-untyped-call]
    return attended


def cross_attention(
    query: Tensor, query_bias: Tensor, packed: Tensor, bias: Tensor, heads: int, mask: Tensor | None, scale: float
) -> Tensor:
    """The same for Q = query [B, T, D] + query_bias [D], with K and V the parts of packed [B, S, 2 D] + bias [2 D]."""
    arguments = (query, query_bias, packed, bias, heads, mask, scale, None)
    attended: Tensor = _Attention.apply(*arguments)  # type: ignore[no-untyped-call]
    return attended


class _Attention(torch.autograd.Function):
    """Its first tensor holds queries, or all three; its second, if there is one, keys and values."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        first_bias: Tensor,
        second: Tensor | None,
        second_bias: Tensor | None,
        heads: int,
        mask: Tensor | None,
        scale: float,
        rotation: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        first = first.contiguous()
        second = None if second is None else second.contiguous()
        query, key, _ = parts = parts_of(first, second)
        biases = parts_of(first_bias, second_bias)
        sentences, queries, width = query.shape
        result = query.new_empty(sentences, queries, width)
        weights = query.new_empty(sentences, heads, queries, padded(key.size(1)))
        shape = shape_of(*parts, result, heads, mask, scale, rotation)
        function, given = loaded().attention_forward, pointers(*parts, *biases, mask, weights, result)
        shared_out(sentences, lambda begin, end, _: function(ctypes.byref(shape), begin, end, *given))
        ctx.save_for_backward(weights, first, first_bias, second, second_bias)
        ctx.shape, ctx.rotation = shape, rotation  # the one points to the other
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weights, first, first_bias, second, second_bias = ctx.saved_tensors
        shape, gradient = ctx.shape, gradients[0].contiguous()
        by_first = torch.empty_like(first)
        by_second = None if second is None else torch.empty_like(second)
        sums = first.new_zeros(
            torch.get_num_threads(), 3, gradient.size(-1)
        )  # by the biases, of each thread; by the key's it is zero where nothing is turned
        function = loaded().attention_backward
        given = pointers(
            *parts_of(first, second),
            *parts_of(first_bias, second_bias),
            weights,
            gradient,
            *parts_of(by_first, by_second),
        )
        shared_out(
            len(first),
            lambda begin, end, part: function(ctypes.byref(shape), begin, end, 0, *given, *pointers(*sums[part])),
        )
        by_biases = sums.sum(0).flatten()
        by_first_bias, by_second_bias = by_biases[: len(first_bias)], by_biases[len(first_bias) :]
        return by_first, by_first_bias, by_second, None if second is None else by_second_bias, *[None] * 4


def padded(keys: int) -> int:
    """Keys, rounded up to what the kernels take at a time."""
    return -(-keys // LANES) * LANES


def shape_of(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    result: Tensor,
    heads: int,
    mask: Tensor | None,
    scale: float,
    rotation: tuple[Tensor, Tensor] | None,
) -> Shape:
    """The shape of an attention of queries [B, Q, D] to keys and values [B, K, D], views of what holds them."""
    sentences, queries, width = query.shape
    keys = key.size(1)
    mask_strides = (0, 0, 0, 0) if mask is None else mask.expand(sentences, heads, queries, keys).stride()
    strides = [stride for tensor in (query, key, value, result) for stride in tensor.stride()[:2]]
    return Shape(
        heads,
        queries,
        keys,
        width // heads,
        padded(keys),
        *strides,
        *mask_strides,
        scale,
        *pointers(*rotation or (None, None)),
    )


def parts_of(first: Tensor, second: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Views of what belongs to queries, keys and values, each of the last size D."""
    if second is None:
        query, key, value = first.chunk(3, dim=-1)
    else:
        query, (key, value) = first, second.chunk(2, dim=-1)
    return query, key, value
