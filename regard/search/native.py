"""Greedy and beam search as the engine in C does them: the same results as `beam.py`, for all sentences at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.native.engine import PackedTransformer
from regard.native.search import Found, Task, search
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import length_penalty
from regard.search.rules import check_best, forbidden_tokens, limits_of_lengths


def native_search(
    model: PackedTransformer,
    sources: Sequence[Sequence[int]],
    config: SearchConfig,
    best: int,
    longest: int | None,
    advanced: Callable[[int], None],
) -> list[list[Hypothesis]]:
    """The `best` hypotheses for each source, best first; `advanced` hears how many more sentences are done."""
    check_best(best, config)
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))  # the longest must not come last
    task = search_task(model, [len(sources[index]) for index in order], config, best, longest)
    found = search(model, [sources[index] for index in order], task, torch.get_num_threads(), advanced)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for index, outputs in zip(order, found, strict=True):
        results[index] = hypotheses(outputs, best)
    return results


def search_task(
    model: PackedTransformer, lengths: Sequence[int], config: SearchConfig, best: int, longest: int | None
) -> Task:
    """What the engine is to do with sources of these lengths."""
    limits = limits_of_lengths(torch.tensor(lengths), config, longest).numpy()
    penalties = [length_penalty(max(1, length), config) for length in range(int(limits.max(initial=1)) + 1)]
    return Task(
        beam=config.beam,
        best=best,
        limits=limits,
        penalties=np.array(penalties, dtype=np.float64),
        begin_mark=BOS_ID,
        end_mark=EOS_ID,
        forbidden=forbidden_tokens(model.parts.output.out_features),
        batch_tokens=config.batch_tokens,
    )


def hypotheses(outputs: Sequence[Found], best: int) -> list[Hypothesis]:
    """The same, as other searches give them."""
    gathered = NBest(best)
    for output in outputs:
        gathered.add(
            Hypothesis(
                tokens=output.tokens,
                score=output.score,
                log_probability=output.log_probability,
                finished=output.finished,
                token_log_probabilities=output.token_log_probabilities,
            )
        )
    return gathered.best()
