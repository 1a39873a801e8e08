"""Each rule against a slow, obvious form of itself; a wide beam under rules against all outputs that keep to them."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from toy_models import PrefixModel, all_outputs, random_sources

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.search.beam import beam_search
from regard.search.token_rules import (
    ForcedBeginning,
    MinimumLength,
    NoLoops,
    NoRepeatedNgram,
    TokenRule,
    allowed_log_probabilities,
    in_loop,
    rules_for,
)

VOCABULARY = 12


def allowed(rule: TokenRule, rows: list[list[int]]) -> list[set[int]]:
    """The tokens that a rule leaves to each hypothesis, the marks aside."""
    logits = torch.randn(len(rows), VOCABULARY, generator=torch.Generator().manual_seed(1))
    tokens = torch.tensor([[BOS_ID, *row] for row in rows])
    found = allowed_log_probabilities(logits, tokens, torch.arange(len(rows)), [rule])
    model = logits.log_softmax(dim=-1)
    kept = found > -math.inf
    assert torch.equal(found[kept], model[kept]), "a rule takes tokens away, and changes no probability"
    return [set(row.nonzero()[:, 0].tolist()) for row in kept]


EVERYTHING = {EOS_ID, *range(4, VOCABULARY)}


def test_minimum_length() -> None:
    assert allowed(MinimumLength(2), [[]]) == [EVERYTHING - {EOS_ID}]
    assert allowed(MinimumLength(2), [[5]]) == [EVERYTHING - {EOS_ID}]
    assert allowed(MinimumLength(2), [[5, 6]]) == [EVERYTHING]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_repeated_ngram(size: int) -> None:
    generator = torch.Generator().manual_seed(2)
    rows = torch.randint(4, 7, (40, 7), generator=generator).tolist()

    def ngrams(tokens: list[int]) -> list[tuple[int, ...]]:
        return [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]

    for row, found in zip(rows, allowed(NoRepeatedNgram(size), rows), strict=True):
        assert found == {token for token in EVERYTHING if ngrams([*row, token])[-1] not in ngrams(row)}
    assert allowed(NoRepeatedNgram(size), [row[: size - 1] for row in rows[:1]]) == [EVERYTHING]


def test_a_loop_may_only_end() -> None:
    rows = [[4, 5, 5, 5, 5, 5], [4, 5, 4, 5, 4, 5], [4, 5, 6, 4, 5, 6], [5, 5, 5, 5, 5, 6]]
    assert allowed(NoLoops(3), rows) == [{EOS_ID}, {EOS_ID}, EVERYTHING, EVERYTHING]
    assert allowed(NoLoops(2), rows) == [{EOS_ID}, {EOS_ID}, {EOS_ID}, EVERYTHING]
    assert allowed(NoLoops(3), [[4, 4]]) == [EVERYTHING]


def test_loops_of_more_than_sixteen_tokens_are_none() -> None:
    phrase = list(range(4, 20))
    assert in_loop(torch.tensor([phrase * 3]), 3).tolist() == [True]
    assert in_loop(torch.tensor([[*phrase, 20] * 3]), 3).tolist() == [False]


def test_forced_beginning() -> None:
    rule = ForcedBeginning([[7, 8], [], [9]])
    assert allowed(rule, [[], [], []]) == [{7}, EVERYTHING, {9}]
    assert allowed(rule, [[7], [5], [9]]) == [{8}, EVERYTHING, EVERYTHING]
    assert allowed(rule, [[7, 8], [5, 5], [9, 9]]) == [EVERYTHING] * 3


def test_a_hypothesis_with_nothing_left_may_end() -> None:
    logits, tokens = torch.zeros(1, 5), torch.tensor([[BOS_ID, 4]])
    rules = [MinimumLength(3), NoRepeatedNgram(1)]
    found = allowed_log_probabilities(logits, tokens, torch.zeros(1, dtype=torch.long), rules)
    assert (found > -math.inf).nonzero().tolist() == [[0, EOS_ID]]


def test_a_configuration_asks_for_its_rules() -> None:
    assert rules_for(SearchConfig()) == []
    assert rules_for(SearchConfig(), [[], []]) == []
    asked = SearchConfig(min_length=2, no_repeat_ngram=3, max_repeats=4)
    rules = rules_for(asked, [[5]])
    assert rules[:3] == [MinimumLength(2), NoRepeatedNgram(3), NoLoops(4)]
    assert isinstance(rules[3], ForcedBeginning)


def bigrams_differ(tokens: list[int]) -> bool:
    pairs = list(pairwise(tokens))
    return len(set(pairs)) == len(pairs)


CASES: dict[str, tuple[dict[str, int], list[int], Callable[[list[int]], bool]]] = {
    "minimum": ({"min_length": 2}, [], lambda tokens: len(tokens) >= 2),
    "maximum": ({"max_length": 3}, [], lambda tokens: len(tokens) < 3),
    "no repeated bigram": ({"no_repeat_ngram": 2}, [], bigrams_differ),
    "no repeated token": ({"no_repeat_ngram": 1}, [], lambda tokens: len(set(tokens)) == len(tokens)),
    "prefix": ({}, [5, 6], lambda tokens: tokens[:2] == [5, 6]),
    "all": (
        {"min_length": 3, "no_repeat_ngram": 2},
        [5],
        lambda tokens: len(tokens) >= 3 and tokens[0] == 5 and bigrams_differ(tokens),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_wide_beam_finds_the_best_of_all_that_keep_to_the_rules(
    case: tuple[dict[str, int], list[int], Callable[[list[int]], bool]],
) -> None:
    settings, beginning, keeps = case
    model = PrefixModel(vocabulary=8, seed=4, end_bias=1.0)
    source, mask = random_sources(3, 5)
    config = SearchConfig(beam=100, max_length_factor=1e-6, max_length_extra=5, **settings)
    rules = rules_for(config, [beginning] * 3)
    found = beam_search(model, source, mask, config, 4, rules=rules)
    for row in range(3):
        outputs = all_outputs(model, source[row][mask[row]], config, longest=5)
        expected = [output for output in outputs if keeps(output.tokens)][:4]
        got = [hypothesis for hypothesis in found[row] if hypothesis.finished]
        assert [hypothesis.tokens for hypothesis in got] == [output.tokens for output in expected]
        assert [each.score for each in got] == pytest.approx([output.score for output in expected], abs=1e-5)


def test_an_output_in_a_loop_is_stopped_and_marked_and_comes_after_others() -> None:
    class SaysTheSame(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            logits = super()._logits(key)
            logits[:, 5] += 9.0
            return logits

    source, mask = random_sources(4)
    config = SearchConfig(beam=1, max_repeats=4)
    for [found] in beam_search(SaysTheSame(9), source, mask, config, rules=rules_for(config)):
        assert found.tokens[-4:] == [5] * 4
        assert found.looped
        assert not found.finished
        assert len(found.token_log_probabilities) == len(found.tokens) + 1
    for row in beam_search(
        SaysTheSame(9), source, mask, SearchConfig(beam=8, max_repeats=4), 8, rules=rules_for(config)
    ):
        assert [hypothesis.looped for hypothesis in row] == sorted(hypothesis.looped for hypothesis in row)
        assert not row[0].looped


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_is_not_changed_by_its_batch_under_rules(beam: int) -> None:
    model = PrefixModel(vocabulary=25, seed=9, scale=6.0, end_bias=1.0)
    source, mask = random_sources(20)
    beginnings = [[4 + row % 7] * (row % 3) for row in range(20)]
    config = SearchConfig(beam=beam, min_length=3, no_repeat_ngram=2, max_length_factor=1.2, max_length_extra=6)
    together = beam_search(model, source, mask, config, beam, rules=rules_for(config, beginnings))
    for row in range(20):
        own, length = slice(row, row + 1), int(mask[row].sum())
        rules = rules_for(config, beginnings[own])
        alone = beam_search(model, source[own, :length], mask[own, :length], config, beam, rules=rules)
        assert together[row] == alone[0]
        assert all(hypothesis.tokens[: row % 3] == beginnings[row] for hypothesis in alone[0])
