"""What a model thought at each step of a target: the likeliest tokens, and where the one that was written stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.data.tokenizer import Tokenizer
from regard.errors import ModelFolderError
from regard.search.rules import forbidden_tokens

CANDIDATES = 10


@dataclass(frozen=True)
class Candidate:
    """A token that could have come next."""

    token: str
    probability: float


@dataclass(frozen=True)
class Step:
    """One token of a target, given the source and the tokens before it."""

    token: str
    log_probability: float
    rank: int
    """1 where the model found no token likelier that an output may hold."""
    entropy: float
    """-Σ p log p over the vocabulary, in nats: 0 where the model is sure, log V where all tokens are alike to it."""
    candidates: tuple[Candidate, ...]
    """The likeliest tokens that an output may hold, best first."""

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)

    def to_json(self) -> dict[str, Any]:
        return {
            "token": self.token,
            "log_probability": self.log_probability,
            "rank": self.rank,
            "entropy": self.entropy,
            "candidates": [{"token": each.token, "probability": each.probability} for each in self.candidates],
        }


def steps_of(logits: Tensor, target: Sequence[int], tokenizer: Tokenizer, count: int = CANDIDATES) -> tuple[Step, ...]:
    """The steps of `target` [T], end mark included, from the logits [T, V] of a teacher-forced pass.

    Probabilities are the model's own. As in a search, tokens that no output may hold keep their share of them, but are
    no candidates.
    """
    if not bool(logits.isfinite().all()):
        raise ModelFolderError(
            "the model's probabilities are not numbers (NaN), so there is nothing to explain: its training went wrong; "
            "train it again, with a lower learning rate or with clipping"
        )
    log_probabilities = logits.double().log_softmax(dim=-1)
    entropies = -(log_probabilities.exp() * log_probabilities).sum(dim=-1)
    own = log_probabilities[range(len(target)), list(target)]
    allowed = log_probabilities.index_fill(1, logits.new_tensor(forbidden_tokens(logits.size(1))).long(), -math.inf)
    ranks = 1 + (allowed > own[:, None]).sum(dim=1)
    values, tokens = allowed.topk(min(count, allowed.size(1)), dim=1)
    names = tokenizer.pieces(target)
    return tuple(
        Step(
            token=names[place],
            log_probability=float(own[place]),
            rank=int(ranks[place]),
            entropy=max(0.0, float(entropies[place])),
            candidates=_candidates(tokenizer, tokens[place].tolist(), values[place].exp().tolist()),
        )
        for place in range(len(target))
    )


def _candidates(tokenizer: Tokenizer, tokens: list[int], probabilities: list[float]) -> tuple[Candidate, ...]:
    pairs = zip(tokenizer.pieces(tokens), probabilities, strict=True)
    return tuple(Candidate(name, probability) for name, probability in pairs if probability > 0)
