"""One batch: pairs side by side, padded into tensors, and how many pairs fit a budget of tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.ragged import Ragged, Rows
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID

Lengths = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Pairs as the model takes them; `indices` says which pairs of the corpus they are."""

    source: Tensor  # [B, S] tokens, then the end mark, then padding
    source_mask: Tensor  # [B, S] true on tokens and end mark
    target_input: Tensor  # [B, T] the start mark, then tokens
    target_output: Tensor  # [B, T] tokens, then the end mark
    indices: Tensor  # [B]
    first_row: int = field(default=0, kw_only=True)
    """Where this is a part of a larger batch: how many of its rows come before these."""
    rows_in_all: int | None = field(default=None, kw_only=True)
    """Where this is a part of a larger batch: the rows of that one."""
    doubled: bool = field(default=False, kw_only=True)
    """Whether each row is there twice, side by side."""

    @property
    def rows(self) -> int:
        return int(self.source.shape[0])

    @cached_property
    def tokens(self) -> int:
        """Real target tokens, end marks included."""
        return int((self.target_output != PAD_ID).sum())

    @cached_property
    def source_tokens(self) -> int:
        """Real source tokens, end marks included."""
        return int(self.source_mask.sum())

    @property
    def cells(self) -> int:
        """Places in the padded source and target together."""
        return self.source.numel() + self.target_output.numel()

    def without_targets(self) -> Batch:
        """One row of the batch with no token to learn: its loss and its gradients are zero."""
        nothing = torch.full_like(self.target_output[:1], PAD_ID)
        return Batch(self.source[:1], self.source_mask[:1], self.target_input[:1], nothing, self.indices[:0])

    def part(self, number: int, parts: int) -> Batch:
        """One of several parts with nearly equal rows; one that teaches nothing where there are too few rows."""
        if parts == 1:
            return self
        start, stop = self.rows * number // parts, self.rows * (number + 1) // parts
        if start == stop:
            return self.without_targets()
        rows = self._each(lambda tensor: tensor[start:stop], counted=False)
        return replace(rows, first_row=start, rows_in_all=self.rows)

    def twice(self) -> Batch:
        """Each row twice, side by side, for two passes with dropout of their own; its tokens still count once."""
        doubled = self._each(lambda tensor: tensor.repeat_interleave(2, dim=0), counted=False)
        in_all = None if self.rows_in_all is None else 2 * self.rows_in_all
        doubled = replace(doubled, first_row=2 * self.first_row, rows_in_all=in_all, doubled=True)
        vars(doubled).update(tokens=self.tokens, source_tokens=self.source_tokens)
        return doubled

    def with_targets(self, rows: Tensor, targets: Sequence[Sequence[int]]) -> Batch:
        """Some of the rows [R], each with other target tokens, which carry no marks."""
        other = collate([[]] * len(targets), targets, range(len(targets)))
        target_input, target_output = (
            side.to(self.source.device) for side in (other.target_input, other.target_output)
        )
        return Batch(self.source[rows], self.source_mask[rows], target_input, target_output, self.indices[rows])

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """The same batch on a device."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin(self) -> Batch:
        """The same batch in page-locked memory, from which a GPU copies without making the CPU wait."""
        return self._each(lambda tensor: tensor.pin_memory())

    def _each(self, change: Callable[[Tensor], Tensor], counted: bool = True) -> Batch:
        changed = replace(
            self,
            source=change(self.source),
            source_mask=change(self.source_mask),
            target_input=change(self.target_input),
            target_output=change(self.target_output),
            indices=change(self.indices),
        )
        if counted:  # here, so that asking the copy does not make the CPU wait for a GPU
            vars(changed).update(tokens=self.tokens, source_tokens=self.source_tokens)
        return changed


def collate(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], indices: Sequence[int]) -> Batch:
    """A batch of these token ids, which carry no marks."""
    rows = np.arange(len(sources))
    return batch_of(Ragged.from_rows(sources), Ragged.from_rows(targets), rows, np.array(indices, dtype=np.int64))


def batch_of(source: Ragged, target: Ragged, rows: Rows, indices: Rows) -> Batch:
    """A batch of some rows of tokens; `indices` names them to the outside."""
    every = np.arange(len(rows))
    source_ends, target_ends = source.lengths(rows), target.lengths(rows)
    source_width, target_width = (int(ends.max(initial=0)) + 1 for ends in (source_ends, target_ends))
    source_matrix = source.padded(rows, source_width, PAD_ID)
    target_output = target.padded(rows, target_width, PAD_ID)
    target_input = np.empty_like(target_output)
    target_input[:, 0] = BOS_ID
    target_input[:, 1:] = target_output[:, :-1]
    source_matrix[every, source_ends] = EOS_ID
    target_output[every, target_ends] = EOS_ID
    source_mask = np.arange(source_width) <= source_ends[:, None]
    return Batch(*map(torch.from_numpy, (source_matrix, source_mask, target_input, target_output, indices)))


def cut_into_batches(source: Lengths, target: Lengths, batch_tokens: int, ties: Rows | None = None) -> list[Rows]:
    """Rows of similar lengths together, in batches of rows * (the longest side of any) <= batch_tokens.

    Lengths count the end marks. A pair that is longer than the budget is a batch of its own. Rows of equal lengths
    are ordered by `ties`, or else stay as they come.
    """
    longest = np.maximum(source, target)
    # Among pairs of one longest side, the shorter side runs from one extreme to the other and, at the next length,
    # back again: neighbours differ little on either side, and so both sides have little padding.
    lean = np.where(longest % 2 == 0, source - target, target - source)
    order = np.lexsort((lean, longest) if ties is None else (ties, lean, longest))
    widths = longest[order].tolist()
    batches: list[Rows] = []
    start = 0
    while start < len(order):
        stop = _end_of_batch(widths, start, batch_tokens)
        batches.append(order[start:stop])
        start = stop
    return batches


def _end_of_batch(widths: Sequence[int], start: int, budget: int) -> int:
    """How far the rows from `start` fit the budget; widths rise, so a batch is as wide as its last row."""
    candidates = range(start, min(len(widths), start + budget // widths[start]))
    fitting = bisect_right(candidates, budget, key=lambda place: (place - start + 1) * widths[place])
    return start + max(1, fitting)
