"""Greedy and beam search as the engine in C does them: the same results as `beam.py`, for all sentences at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.native.engine import PackedModel
from regard.native.search import Found, Task, search
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import length_penalty
from regard.search.rules import check_best, forbidden_tokens, limits_of_lengths


def native_search(
    model: PackedModel,
    sources: Sequence[Sequence[int]],
    config: SearchConfig,
    best: int,
    longest: int | None,
    advanced: Callable[[int], None],
) -> list[list[Hypothesis]]:
    """The `best` hypotheses for each source, best first; `advanced` hears how many more sentences are done."""
    check_best(best, config)
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))  # the longest must not come last
    task = Tasks(model, config, best, longest).of([len(sources[index]) for index in order])
    found = search(model, [sources[index] for index in order], task, torch.get_num_threads(), advanced)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for index, outputs in zip(order, found, strict=True):
        results[index] = hypotheses(outputs, best)
    return results


class Tasks:
    """Tasks for one model, search and number of outputs; what they have in common is made once."""

    def __init__(self, model: PackedModel, config: SearchConfig, best: int, longest: int | None) -> None:
        self._config, self._best, self._longest = config, best, longest
        self._forbidden = forbidden_tokens(model.vocabulary)
        self._limits: dict[int, int] = {}
        self._penalties = np.empty(0)

    def of(self, lengths: Sequence[int]) -> Task:
        """What the engine is to do with sources of these lengths."""
        unknown = sorted(set(lengths) - self._limits.keys())
        if unknown:
            limits = limits_of_lengths(torch.tensor(unknown), self._config, self._longest)
            self._limits |= dict(zip(unknown, limits.tolist(), strict=True))
            outputs = range(max(self._limits.values()) + 1)
            self._penalties = np.array([length_penalty(max(1, length), self._config) for length in outputs])
        return Task(
            beam=self._config.beam,
            best=self._best,
            limits=np.array([self._limits[length] for length in lengths], dtype=np.int64),
            penalties=self._penalties,
            begin_mark=BOS_ID,
            end_mark=EOS_ID,
            forbidden=self._forbidden,
            batch_tokens=self._config.batch_tokens,
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
