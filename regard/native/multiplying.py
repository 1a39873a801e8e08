"""Products of matrices in training: our own in C where they are the faster ones, or else torch's.

Inside `products_of_pairs` they are of bfloat16. That is decided when a factor is laid out or, where none was, when a
product is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.native.library import EndingStructure, FactorStructure, loaded, multiplies_fast, panel_width, takes
from regard.native.pairs import asked_for_pairs


@dataclass(frozen=True)
class LaidOut:
    """A right factor [K, N] that many products share, laid out for them once; it must not change meanwhile."""

    matrix: Tensor
    panels: Tensor | None
    """[panels, K, panel width], or half as many terms where they are pairs; None where torch multiplies."""
    pairs: bool = False


def lay_out(matrix: Tensor) -> LaidOut:
    """Make a matrix [K, N], which may lie turned, ready for many products."""
    if not _suits(matrix):
        return LaidOut(matrix, None)
    terms, columns = matrix.shape
    wide, pairs = panel_width(), asked_for_pairs()
    panels = matrix.new_empty(-(-columns // wide), -(-terms // 2) if pairs else terms, wide)
    loaded().lay_out_panels(terms, columns, _factor(matrix, pairs), panels.data_ptr())
    return LaidOut(matrix, panels, pairs)


def multiply(left: Tensor, right: Tensor | LaidOut, result: Tensor, keep: bool = False) -> Tensor:
    """Write left [M, K] times right [K, N] to result [M, N], or add it where `keep`; factors may lie turned."""
    prepared(left, right, result, keep)()
    return result


def prepared(left: Tensor, right: Tensor | LaidOut, result: Tensor, keep: bool = False) -> Callable[[], object]:
    """What `multiply` calls in the end; all tensors must live until then."""
    right = right if isinstance(right, LaidOut) else LaidOut(right, None)
    if not (_suits(left, right.matrix, result) and result.stride(1) == 1):
        if keep:
            return partial(result.addmm_, left, right.matrix)
        return partial(torch.mm, left, right.matrix, out=result)
    shape = (*result.shape, left.size(1))
    factors = (_factor(left), _right_factor(right))
    ending = EndingStructure(keep, 0, None)
    return partial(loaded().multiply_matrices, *shape, *factors, ending, result.data_ptr(), result.stride(0))


def _factor(matrix: Tensor, pairs: bool = False) -> FactorStructure:
    return FactorStructure(matrix.data_ptr(), *matrix.stride(), 0, pairs)


def _right_factor(right: LaidOut) -> FactorStructure:
    if right.panels is None:
        return _factor(right.matrix, asked_for_pairs())
    return FactorStructure(right.panels.data_ptr(), right.panels.size(2), 1, right.panels.stride(0), right.pairs)


def _suits(*matrices: Tensor) -> bool:
    """Whether these are for our own products, which take one thread."""
    return (
        torch.get_num_threads() == 1
        and all(takes(matrix) and matrix.numel() > 0 for matrix in matrices)
        and multiplies_fast()
    )
