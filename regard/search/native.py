"""Greedy and beam search as the engine in C does them: the same results as `beam.py`, for all sentences at once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.native.engine import PackedModel
from regard.native.search import Found, Task, search
from regard.search.hypotheses import Hypothesis, not_numbers
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
    limits, task = Tasks(model, config, best, longest).of([len(sources[index]) for index in order])
    found = search(model, [sources[index] for index in order], limits, task, torch.get_num_threads(), advanced)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for index, outputs in zip(order, found, strict=True):
        results[index] = hypotheses(outputs)
    return results


class Tasks:
    """Tasks for one model, search and number of outputs; what they have in common is made once."""

    def __init__(self, model: PackedModel, config: SearchConfig, best: int, longest: int | None) -> None:
        self._config, self._longest = config, longest
        self._limits: dict[int, int] = {}
        self._task = Task(
            beam=config.beam,
            best=best,
            penalties=array("d"),
            begin_mark=BOS_ID,
            end_mark=EOS_ID,
            forbidden=array("q", forbidden_tokens(model.vocabulary)),
            batch_tokens=config.batch_tokens,
        )

    def of(self, lengths: Sequence[int]) -> tuple[array[int], Task]:
        """The limits of outputs for sources of these lengths, and what else the engine is to know."""
        try:
            limits = array("q", map(self._limits.__getitem__, lengths))
        except KeyError:
            self._learn(sorted(set(lengths)))
            return self.of(lengths)
        return limits, self._task

    def _learn(self, lengths: list[int]) -> None:
        limits = limits_of_lengths(torch.tensor(lengths), self._config, self._longest)
        self._limits |= dict(zip(lengths, limits.tolist(), strict=True))
        outputs = range(max(self._limits.values()) + 1)
        penalties = array("d", [length_penalty(max(1, length), self._config) for length in outputs])
        self._task = replace(self._task, penalties=penalties)


def hypotheses(outputs: Sequence[Found]) -> list[Hypothesis]:
    """The same, as other searches give them; the engine has put them in order."""
    if not outputs:
        raise not_numbers()
    return [Hypothesis(*output) for output in outputs]
