"""Rules for tokens: each looks at the hypotheses so far and says which next tokens they may not, or must, take.

A rule never changes a probability. It sets log-probabilities to minus infinity, so that those of the tokens that are
left stay the model's own, and the log-probability of an output is the one that scoring gives it. Rules are applied in
order; a later one may bring back what an earlier one took (a forced token, an end).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.search.rules import forbidden_tokens

LONGEST_LOOP = 16
"""Tokens of the longest phrase whose repetition counts as a loop."""


@dataclass(frozen=True)
class Step:
    """What a rule may look at."""

    tokens: Tensor
    """[R, t]: the hypotheses so far, without the mark of the beginning."""
    sentences: Tensor
    """[R]: the sentence of the batch that each belongs to."""
    model: Tensor
    """[R, V]: the log-probabilities of the next token, as the model gives them."""

    @property
    def length(self) -> int:
        return self.tokens.size(1)


class TokenRule(Protocol):
    """One rule."""

    def apply(self, step: Step, log_probabilities: Tensor) -> None:
        """Edit `log_probabilities` [R, V] in place."""


@dataclass(frozen=True)
class MinimumLength:
    """No end before so many tokens."""

    length: int

    def apply(self, step: Step, log_probabilities: Tensor) -> None:
        if step.length < self.length:
            log_probabilities[:, EOS_ID] = -math.inf


@dataclass(frozen=True)
class NoRepeatedNgram:
    """No n-gram comes twice in an output: a token that would complete one again is forbidden."""

    size: int

    def apply(self, step: Step, log_probabilities: Tensor) -> None:
        if step.length < self.size:
            return
        ngrams = step.tokens.unfold(1, self.size, 1)  # [R, t - n + 1, n]
        begun = step.tokens[:, step.length - self.size + 1 :]  # [R, n - 1]: what the next token would complete
        rows, places = (ngrams[:, :, :-1] == begun[:, None]).all(dim=2).nonzero(as_tuple=True)
        log_probabilities[rows, ngrams[rows, places, -1]] = -math.inf


@dataclass(frozen=True)
class NoLoops:
    """An output whose end is one phrase, over and over, may only end."""

    repeats: int

    def apply(self, step: Step, log_probabilities: Tensor) -> None:
        caught = in_loop(step.tokens, self.repeats)
        force(caught.nonzero()[:, 0], torch.full_like(step.sentences, EOS_ID)[caught], step, log_probabilities)


class ForcedBeginning:
    """Each sentence's output begins with tokens that are given."""

    def __init__(self, beginnings: Sequence[Sequence[int]]) -> None:
        self.lengths = torch.tensor([len(beginning) for beginning in beginnings])
        longest = max(map(len, beginnings), default=0)
        self.tokens = torch.tensor([[*beginning, *[0] * (longest - len(beginning))] for beginning in beginnings])

    def apply(self, step: Step, log_probabilities: Tensor) -> None:
        sentences = step.sentences.cpu()
        rows = (self.lengths[sentences] > step.length).nonzero()[:, 0]
        if len(rows):
            tokens = self.tokens[sentences[rows], step.length]
            device = log_probabilities.device
            force(rows.to(device), tokens.to(device), step, log_probabilities)


def force(rows: Tensor, tokens: Tensor, step: Step, log_probabilities: Tensor) -> None:
    """Let each of `rows` take its one of `tokens` and nothing else, at the model's log-probability."""
    log_probabilities[rows] = -math.inf
    log_probabilities[rows, tokens] = step.model[rows, tokens]


def in_loop(tokens: Tensor, repeats: int) -> Tensor:
    """Which rows [R] of `tokens` [R, t] end with a phrase of up to 16 tokens that stands there `repeats` times."""
    rows, length = tokens.shape
    caught = torch.zeros(rows, dtype=torch.bool, device=tokens.device)
    for size in range(1, min(LONGEST_LOOP, length // repeats) + 1):
        phrases = tokens[:, length - size * repeats :].reshape(rows, repeats, size)
        caught |= (phrases == phrases[:, :1]).all(dim=2).all(dim=1)
    return caught


def rules_for(config: SearchConfig, beginnings: Sequence[Sequence[int]] = ()) -> list[TokenRule]:
    """The rules that a configuration asks for, and those for outputs whose beginnings are given."""
    rules: list[TokenRule] = []
    if config.min_length:
        rules.append(MinimumLength(config.min_length))
    if config.no_repeat_ngram:
        rules.append(NoRepeatedNgram(config.no_repeat_ngram))
    if config.max_repeats:
        rules.append(NoLoops(config.max_repeats))
    if any(beginnings):
        rules.append(ForcedBeginning(beginnings))
    return rules


def allowed_log_probabilities(logits: Tensor, tokens: Tensor, sentences: Tensor, rules: Sequence[TokenRule]) -> Tensor:
    """The model's log-probabilities [R, V] where the rules allow a token, minus infinity elsewhere.

    `tokens` [R, 1 + t] begin with the mark of the beginning. A hypothesis for which nothing is left may end.
    """
    model = logits.float().log_softmax(dim=-1)
    allowed = model.clone()
    allowed[:, list(forbidden_tokens(logits.size(1)))] = -math.inf
    step = Step(tokens[:, 1:], sentences, model)
    for rule in rules:
        rule.apply(step, allowed)
    stuck = (allowed == -math.inf).all(dim=1)
    allowed[stuck, EOS_ID] = model[stuck, EOS_ID]
    return allowed
