"""Scoring: the log-probability that a model gives to outputs that are already there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from regard.data.batch import collate
from regard.data.vocabulary import PAD_ID
from regard.models.contract import SequenceToSequence

LOGIT_ROWS = 1024
"""Target positions whose logits are computed at once, so that a large vocabulary does not fill the memory."""


@dataclass(frozen=True, slots=True)
class Score:
    """How likely a given translation is."""

    pieces: list[str]
    """The target's tokens as they can be printed, end mark included."""
    per_token: list[float]
    """The log-probability of each."""

    @property
    def log_probability(self) -> float:
        """The natural logarithm of the probability of the whole translation."""
        return math.fsum(self.per_token)

    @property
    def tokens(self) -> int:
        """How many tokens the target has, end mark included."""
        return len(self.per_token)

    @property
    def mean(self) -> float:
        """Log-probability by token."""
        return self.log_probability / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(-mean): among how many equally likely tokens the model chose, on average."""
        return math.exp(min(-self.mean, 700.0))  # exp(700) is near the largest float


@torch.inference_mode()
def token_log_probabilities(
    model: SequenceToSequence, sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> list[list[float]]:
    """Teacher-forced log-probabilities of every target's tokens and of its end mark, as one batch.

    Neither sources nor targets have marks. Each row of the result is one longer than its target.
    """
    batch = collate(sources, targets, range(len(sources))).to(model.device)
    real = batch.target_output != PAD_ID
    features = model.features(batch.source, batch.source_mask, batch.target_input)[real]
    expected = batch.target_output[real]
    values: list[float] = []
    for start in range(0, len(expected), LOGIT_ROWS):
        rows = slice(start, start + LOGIT_ROWS)
        log_probabilities = model.output(features[rows]).float().log_softmax(dim=-1)
        values += log_probabilities.gather(1, expected[rows, None])[:, 0].tolist()
    remaining = iter(values)
    return [list(islice(remaining, len(target) + 1)) for target in targets]
