"""Products of matrices in training: our own in C where they are the faster ones, or else torch's.

Inside `products_in_bf16` they are of bfloat16. That is decided when a factor is laid out or, where none was, when a
product is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.native.forms import Form, form_of_products
from regard.native.library import EndingStructure, FactorStructure, loaded, multiplies_fast, takes


@dataclass(frozen=True)
class LaidOut:
    """A right factor [K, N] that many products share, laid out for them once; it must not change meanwhile."""

    matrix: Tensor
    panels: Tensor | None = None
    """The numbers of its new order; None where torch multiplies."""
    factor: FactorStructure | None = None
    """How they lie."""


def lay_out(matrix: Tensor) -> LaidOut:
    """Make a matrix [K, N], which may lie turned, ready for many products."""
    if not _suits(matrix):
        return LaidOut(matrix)
    form = form_of_products()
    panels = matrix.new_empty(loaded().room_for_panels(*matrix.shape, form))
    return LaidOut(matrix, panels, loaded().lay_out_panels(*matrix.shape, _factor(matrix, form), panels.data_ptr()))


def multiply(left: Tensor, right: Tensor | LaidOut, result: Tensor, keep: bool = False) -> Tensor:
    """Write left [M, K] times right [K, N] to result [M, N], or add it where `keep`; factors may lie turned."""
    prepared(left, right, result, keep)()
    return result


def prepared(left: Tensor, right: Tensor | LaidOut, result: Tensor, keep: bool = False) -> Callable[[], object]:
    """What `multiply` calls in the end; all tensors must live until then."""
    right = right if isinstance(right, LaidOut) else LaidOut(right)
    if not (_suits(left, right.matrix, result) and result.stride(1) == 1):
        if keep:
            return partial(result.addmm_, left, right.matrix)
        return partial(torch.mm, left, right.matrix, out=result)
    shape = (*result.shape, left.size(1))
    factors = (_factor(left), right.factor or _factor(right.matrix, form_of_products()))
    ending = EndingStructure(keep, 0, None)
    return partial(loaded().multiply_matrices, *shape, *factors, ending, result.data_ptr(), result.stride(0))


def _factor(matrix: Tensor, form: Form = Form.FLOATS) -> FactorStructure:
    return FactorStructure(matrix.data_ptr(), *matrix.stride(), 0, form)


def _suits(*matrices: Tensor) -> bool:
    """Whether these are for our own products, which take one thread."""
    return (
        torch.get_num_threads() == 1
        and all(takes(matrix) and matrix.numel() > 0 for matrix in matrices)
        and multiplies_fast()
    )
