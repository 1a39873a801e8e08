"""A step of Muon on one matrix, in one call; regard/train/muon.py has the plain form."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.native.forms import form_of_products
from regard.native.library import LANES, loaded, multiplies_fast, pointers, takes


def suits_muon(weight: Tensor, gradient: Tensor, mean: Tensor) -> bool:
    """Whether there is a form in C for a matrix that lies like this."""
    return (
        torch.get_num_threads() == 1
        and all(takes(tensor) and tensor.is_contiguous() for tensor in (weight, gradient, mean))
        and all(size % LANES == 0 for size in weight.shape)
        and multiplies_fast()
    )


def muon_step(weight: Tensor, gradient: Tensor, mean: Tensor, momentum: float, kept: float, change: float) -> None:
    """Move `mean` towards the gradient, and a weight [rows, columns] by what the two are when made orthogonal."""
    rows, columns = weight.shape
    space = weight.new_empty(2 * (rows * columns + min(rows, columns) ** 2))
    tensors = pointers(gradient, mean, weight, space)
    loaded().muon_step(rows, columns, momentum, kept, change, form_of_products(), *tensors)
