"""What every search keeps to: how long an output may become, and which tokens it may not hold."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from regard.errors import InputError
from regard.native.choice import MAX_BEST
from regard.native.choice import best_tokens as native_best_tokens
from regard.native.library import takes


def check_best(best: int, config: SearchConfig) -> None:
    """Refuse to look for more outputs than a beam holds, or than samples are drawn."""
    if 1 <= best <= config.width:
        return
    if config.sampling:
        raise InputError(f"{config.samples} samples cannot give the {best} best; draw more with `samples`")
    raise InputError(f"a beam of {config.beam} cannot give the {best} best; ask for 1 to {config.beam}")


def length_limits(source_mask: Tensor, config: SearchConfig, longest: int | None = None) -> Tensor:
    """The most tokens [B] that each sentence's output may have, its end mark included.

    floor(max_length_factor * n) + max_length_extra, with n the sentence's own source tokens (its end mark included,
    padding not), so that what it is batched with does not matter. `min_length` gets its room whatever the source;
    never more than `max_length`, or than `longest`.
    """
    return limits_of_lengths(source_mask.sum(dim=1), config, longest)


def limits_of_lengths(lengths: Tensor, config: SearchConfig, longest: int | None = None) -> Tensor:
    """The same from the lengths [B] of sources."""
    limits = (lengths.double() * config.max_length_factor).floor().long() + config.max_length_extra
    if config.min_length:
        limits = limits.clamp(min=config.min_length + 1)
    for most in (config.max_length, longest):
        limits = limits if most is None else limits.clamp(max=most)
    return limits


def best_tokens(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The likeliest next tokens of each row of logits [R, V], best first: log-probabilities and numbers [R, count].

    What no output may hold is left out, but keeps its share of the probability, so that a search and the scoring of a
    given output agree. A small vocabulary may have fewer than `count`.
    """
    never = forbidden_tokens(logits.size(1))
    count = min(count, logits.size(1))
    if takes(logits) and logits.is_contiguous() and count <= MAX_BEST:
        return native_best_tokens(logits, count, never)
    log_probabilities = logits.float().log_softmax(dim=-1)
    log_probabilities[:, list(never)] = -math.inf
    values, tokens = log_probabilities.topk(count, dim=1)
    return values, tokens


def forbidden_tokens(vocabulary: int) -> tuple[int, ...]:
    """What no output may hold: marks, and the unknown token where there is any other."""
    return (PAD_ID, BOS_ID) if vocabulary <= len(SPECIAL_TOKENS) else (PAD_ID, BOS_ID, UNK_ID)


def first_tokens(sentences: int, device: torch.device) -> Tensor:
    """The beginning of every output [B, 1]."""
    return torch.full((sentences, 1), BOS_ID, device=device)
