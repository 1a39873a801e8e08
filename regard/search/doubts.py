"""Choices too close to call: where the last bits of a sum decide, and with them what a sentence is batched with.

Matrix products of different sizes add in different orders, so the log-probabilities of a sentence differ by some
millionths from batch to batch. Where two candidates are further apart than that, the choice is the same in every
batch. A search therefore notes the sentences for which some choice was closer, and these few are searched again, each
alone. So the result is that of the sentence alone, whatever it was batched with. (To round before comparing would be
no help: it moves the places where noise decides, and leaves as many.)
"""

from __future__ import annotations

import torch
from torch import Tensor

CLOSE = 2e-5
"""Log-probabilities of outputs nearer than this are not told apart by a batch.

A token's differ by 5e-6 from batch to batch at the most, those of outputs of 20 tokens by 2e-5, and competing outputs
share most of that, since they share most of their tokens (measured on Multi30k).
"""

CLOSE_SHARE = 5e-6
"""The same for a sum of probabilities of one step, which has no noise of earlier steps in it."""


class Doubts:
    """Which of a batch's sentences have met a choice too close to call."""

    def __init__(self, sentences: int) -> None:
        self._close = torch.zeros(sentences, dtype=torch.bool)

    def weigh(self, sentences: Tensor, gaps: Tensor) -> None:
        """Note the sentences [B] whose gap [B] is too small; NaN, between two impossible ones, is none."""
        near = gaps.abs() < CLOSE
        if near.any():
            self._close[sentences[near].cpu()] = True

    def sentences(self) -> list[int]:
        """Those that were noted, in order."""
        found: list[int] = self._close.nonzero()[:, 0].tolist()
        return found
