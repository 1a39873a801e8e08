"""What the original says: greedy translations of the sentences of a comparison, and what it thinks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.errors import InputError
from regard.models.folder import LoadedModel
from regard.progress import task
from regard.search.batching import pad
from regard.search.options import plain_search
from regard.search.scoring import token_log_probabilities
from regard.search.translator import Translator

ROWS = 16
"""Sentences whose logits are compared at once."""


@dataclass(frozen=True)
class Greedy:
    """Sentences with the original's greedy translations; rows of tokens have no marks."""

    texts: list[str]
    numbers: list[int]
    """Which of the given sentences they are."""
    source_rows: list[list[int]]
    tokens: list[list[int]]
    translations: list[str]
    limits: list[int]
    """The most tokens that each output could have had, its end mark included."""

    @property
    def scored(self) -> list[list[int]]:
        """The outputs as far as they can be scored with the end mark after them."""
        return [row[: limit - 1] for row, limit in zip(self.tokens, self.limits, strict=True)]


def with_plain_search(loaded: LoadedModel) -> LoadedModel:
    """A model that is searched greedily, whatever its recipe asks for."""
    search = plain_search(loaded.config.search)
    return replace(loaded, config=loaded.config.model_copy(update={"search": search}))


def greedy(loaded: LoadedModel, texts: Sequence[str], longest: int | None = None) -> Greedy:
    """Translate with regard's own engine; texts and outputs of more than `longest` tokens are left out or cut."""
    translator = Translator(loaded)
    room = translator.longest_source if longest is None else min(longest, translator.longest_source)
    rows = loaded.tokenizers.source.encode_batch(list(texts))
    fitting = [index for index, row in enumerate(rows) if len(row) < room]
    if not fitting:
        raise InputError(f"no sentence to compare on is short enough: all have {room} tokens or more")
    texts, rows = [texts[index] for index in fitting], [rows[index] for index in fitting]
    if longest is not None:
        translator.longest_target = min(longest, translator.longest_target or longest)
    with task("translating with the original", len(texts)) as work:
        found = [nbest[0] for nbest in translator.translate_nbest(texts, 1, beam=1, progress=work)]
    search = loaded.config.search
    limits = [int((len(row) + 1) * search.max_length_factor) + search.max_length_extra for row in rows]
    most = translator.longest_target
    return Greedy(
        texts,
        fitting,
        rows,
        [translation.tokens for translation in found],
        [translation.text for translation in found],
        limits if most is None else [min(limit, most) for limit in limits],
    )


def our_log_probabilities(loaded: LoadedModel, ours: Greedy) -> Iterator[list[float]]:
    """Of each output's tokens and of its end mark."""
    for start in range(0, len(ours.tokens), ROWS):
        part = slice(start, start + ROWS)
        yield from token_log_probabilities(loaded.model, ours.source_rows[part], ours.scored[part])


Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From source [B, S], its mask [B, S] and target [B, T], which begins with <s>, to logits [B, T, V]."""


@torch.inference_mode()
def largest_difference(loaded: LoadedModel, ours: Greedy, theirs: Logits) -> float:
    """Of any logit, after every beginning of the original's translations."""
    largest = 0.0
    for start in range(0, len(ours.tokens), ROWS):
        part = slice(start, start + ROWS)
        source, mask = pad([[*row, EOS_ID] for row in ours.source_rows[part]], torch.device("cpu"))
        target, real = pad([[BOS_ID, *row] for row in ours.scored[part]], torch.device("cpu"))
        one, other = loaded.model(source, mask, target)[real], theirs(source, mask, target)[real]
        difference = (one - other).abs().max() if one.shape == other.shape else torch.tensor(torch.inf)
        if not torch.isfinite(difference):
            return float("inf")
        largest = max(largest, float(difference))
    return largest
