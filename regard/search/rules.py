"""What every search keeps to: how long an output may become, and which tokens it may not hold."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from regard.errors import InputError


def check_best(best: int, config: SearchConfig) -> None:
    """Refuse to look for more outputs than a beam holds."""
    if not 1 <= best <= config.beam:
        raise InputError(f"a beam of {config.beam} cannot give the {best} best; ask for 1 to {config.beam}")


def length_limits(source_mask: Tensor, config: SearchConfig, longest: int | None = None) -> Tensor:
    """The most tokens [B] that each sentence's output may have, its end mark included.

    floor(max_length_factor * n) + max_length_extra, with n the sentence's own source tokens (its end mark included,
    padding not), so that what it is batched with does not matter; never more than `longest`.
    """
    lengths = source_mask.sum(dim=1).double()
    limits = (lengths * config.max_length_factor).floor().long() + config.max_length_extra
    return limits if longest is None else limits.clamp(max=longest)


def next_log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities [R, V] of the next token from logits [R, V]; what no output may hold has minus infinity.

    The forbidden tokens keep their share of the probability, so that a search and the scoring of a given output agree.
    """
    log_probabilities = logits.float().log_softmax(dim=-1)
    only_unknown_left = logits.size(1) <= len(SPECIAL_TOKENS)
    for token in (PAD_ID, BOS_ID) if only_unknown_left else (PAD_ID, BOS_ID, UNK_ID):
        log_probabilities[:, token] = -math.inf
    return log_probabilities


def first_tokens(sentences: int, device: torch.device) -> Tensor:
    """The beginning of every output [B, 1]."""
    return torch.full((sentences, 1), BOS_ID, device=device)
