"""The likeliest tokens of rows of logits, without sorting the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.native.library import loaded, pointers, shared_out

MAX_BEST = 128


def best_tokens(logits: Tensor, count: int, forbidden: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The `count` likeliest tokens of each row of logits [R, V]: log-probabilities [R, count] and numbers, best first.

    The forbidden ones keep their share of the probability. Where too few are left, minus infinity fills up.
    """
    if not 1 <= count <= MAX_BEST:
        raise ValueError(f"the {count} best: ask for 1 to {MAX_BEST}")
    rows, vocabulary = logits.shape
    log_probabilities = logits.new_empty(rows, count)
    tokens = torch.empty(rows, count, dtype=torch.int64)
    never = np.array(forbidden, dtype=np.int64)
    function = loaded().best_tokens
    given = (logits.data_ptr(), len(never), never.ctypes.data, *pointers(log_probabilities, tokens))
    shared_out(rows, lambda begin, end, _: function(begin, end, vocabulary, count, *given))
    return log_probabilities, tokens
