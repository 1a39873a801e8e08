"""Weights as the products in C want them: in panels of outputs, as floats or as bytes with a scale for each output."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.native.library import LONG, POINTER, panel_width, pointers


class MatrixStructure(ctypes.Structure):
    """`Matrix` of products.h."""

    _fields_ = (
        *((name, LONG) for name in ("inputs", "outputs")),
        *((name, POINTER) for name in ("panels", "bytes", "scales", "sums", "bias")),
    )


@dataclass(frozen=True)
class PackedMatrix:
    """A weight [outputs, inputs] in its new order; what `structure` points to lives as long as this does."""

    structure: MatrixStructure
    tensors: tuple[Tensor | None, ...]


def pack(weight: Tensor, bias: Tensor | None, in_bytes: bool) -> PackedMatrix:
    """Lay out a weight [outputs, inputs] and its bias [outputs]."""
    outputs, inputs = weight.shape
    missing = -outputs % panel_width()
    bias = None if bias is None else F.pad(bias.detach(), (0, missing)).contiguous()
    tensors = (*(_bytes(weight, missing) if in_bytes else (_panels(weight, missing), None, None, None)), bias)
    return PackedMatrix(MatrixStructure(inputs, outputs, *pointers(*tensors)), tensors)


def _panels(weight: Tensor, missing: int) -> Tensor:
    """[panels, inputs, panel width]"""
    padded = F.pad(weight.detach(), (0, 0, 0, missing))
    return padded.view(-1, panel_width(), weight.size(1)).transpose(1, 2).contiguous()


def _bytes(weight: Tensor, missing: int) -> tuple[None, Tensor, Tensor, Tensor]:
    """Bytes [panels, inputs / 4, panel width, 4], their scales and 128 times their sums [outputs, padded]."""
    padded = F.pad(weight.detach(), (0, 0, 0, missing))
    scales = padded.abs().amax(dim=1) / 127
    whole = (padded / torch.where(scales > 0, scales, 1)[:, None]).round().to(torch.int8)
    ordered = whole.view(-1, panel_width(), weight.size(1) // 4, 4).transpose(1, 2).contiguous()
    return None, ordered, scales, 128 * whole.sum(dim=1, dtype=torch.int32)
