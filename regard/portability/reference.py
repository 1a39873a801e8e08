"""What the original says: greedy translations of the sentences of a comparison, and what it thinks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.models.folder import LoadedModel
from regard.progress import task
from regard.search.batching import pad
from regard.search.scoring import token_log_probabilities
from regard.search.translator import Translator

ROWS = 16
"""Sentences whose logits are compared at once."""


@dataclass(frozen=True)
class Greedy:
    """Sentences with the original's greedy translations; rows of tokens have no marks."""

    texts: list[str]
    source_rows: list[list[int]]
    tokens: list[list[int]]
    translations: list[str]
    limits: list[int]
    """The most tokens that each output could have had, its end mark included."""


def greedy(loaded: LoadedModel, texts: Sequence[str]) -> Greedy:
    """Translate with regard's own engine."""
    translator = Translator(loaded)
    with task("translating with the original", len(texts)) as work:
        found = [nbest[0] for nbest in translator.translate_nbest(list(texts), 1, beam=1, progress=work)]
    search = loaded.config.search
    rows = [row[: translator.longest_source - 1] for row in loaded.tokenizers.source.encode_batch(list(texts))]
    longest = loaded.config.model.max_positions if loaded.config.model.positions == "learned" else None
    limits = [int((len(row) + 1) * search.max_length_factor) + search.max_length_extra for row in rows]
    return Greedy(
        list(texts),
        rows,
        [translation.tokens for translation in found],
        [translation.text for translation in found],
        limits if longest is None else [min(limit, longest) for limit in limits],
    )


def our_log_probabilities(loaded: LoadedModel, ours: Greedy) -> Iterator[list[float]]:
    """Of each output's tokens and of its end mark."""
    for start in range(0, len(ours.tokens), ROWS):
        part = slice(start, start + ROWS)
        yield from token_log_probabilities(loaded.model, ours.source_rows[part], ours.tokens[part])


Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From source [B, S], its mask [B, S] and target [B, T], which begins with <s>, to logits [B, T, V]."""


@torch.inference_mode()
def largest_difference(loaded: LoadedModel, ours: Greedy, theirs: Logits) -> float:
    """Of any logit, after every beginning of the original's translations."""
    largest = 0.0
    for start in range(0, len(ours.tokens), ROWS):
        part = slice(start, start + ROWS)
        source, mask = pad([[*row, EOS_ID] for row in ours.source_rows[part]], torch.device("cpu"))
        target, real = pad([[BOS_ID, *row] for row in ours.tokens[part]], torch.device("cpu"))
        one, other = loaded.model(source, mask, target)[real], theirs(source, mask, target)[real]
        difference = (one - other).abs().max() if one.shape == other.shape else torch.tensor(torch.inf)
        if not torch.isfinite(difference):
            return float("inf")
        largest = max(largest, float(difference))
    return largest
