"""Samples follow the model's probabilities, their seed and their sentence, and nothing else."""

import math
from collections import Counter

import pytest
import torch
from toy_models import PrefixModel, TableModel, random_sources

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError, ModelFolderError
from regard.search.sampling import gumbel, narrowed, sample_search
from regard.search.token_rules import rules_for


def sampling(samples: int = 1, **settings: object) -> SearchConfig:
    return SearchConfig(sampling=True, samples=samples, max_length_factor=1.0, **{"max_length_extra": 6, **settings})


def test_samples_come_as_often_as_they_are_likely() -> None:
    table = {(): {4: 0.5, 5: 0.3, EOS_ID: 0.2}, (4,): {5: 0.25, EOS_ID: 0.75}}
    source, mask = random_sources(1)
    [found] = sample_search(TableModel(table, 8), source, mask, sampling(1000), best=1000)
    counts = Counter(tuple(hypothesis.tokens) for hypothesis in found)
    expected = {(): 0.2, (5,): 0.3, (4,): 0.375, (4, 5): 0.125}
    assert counts.keys() == expected.keys()
    for tokens, probability in expected.items():
        assert counts[tokens] / 1000 == pytest.approx(probability, abs=0.05)
    for hypothesis in found:
        assert math.exp(hypothesis.log_probability) == pytest.approx(expected[tuple(hypothesis.tokens)], rel=1e-5)


def test_temperature_sharpens_and_flattens() -> None:
    table = {(): {4: 0.6, 5: 0.4}}
    source, mask = random_sources(1)

    def share(temperature: float) -> float:
        [found] = sample_search(TableModel(table, 8), source, mask, sampling(1000, temperature=temperature), best=1000)
        return sum(hypothesis.tokens == [4] for hypothesis in found) / 1000

    assert share(0.5) == pytest.approx(0.36 / (0.36 + 0.16), abs=0.05)
    assert share(100.0) == pytest.approx(0.5, abs=0.05)
    assert share(0.01) == 1.0


def test_narrowing_keeps_the_likeliest() -> None:
    shares = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.7, 0.12, 0.11, 0.07]], dtype=torch.float64)

    def kept(**settings: object) -> list[list[int]]:
        inside, doubtful = narrowed(shares.log(), sampling(**settings))
        assert not doubtful.any()
        return [row.nonzero()[:, 0].tolist() for row in inside]

    assert kept() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert kept(top_k=2) == [[1, 3], [0, 1]]
    assert kept(top_k=9) == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert kept(top_p=0.65) == [[1, 3], [0]]
    assert kept(top_p=0.75) == [[1, 2, 3], [0, 1]]
    assert kept(top_p=0.01) == [[1], [0]]
    assert kept(top_k=2, top_p=0.6) == [[1, 3], [0]], "of what the first leaves, the second takes its share"


def test_a_few_tokens_or_all_are_put_in_order_with_the_same_result() -> None:
    logits = torch.randn(30, 90, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3
    settings = [{"top_p": 0.5}, {"top_p": 0.99}, {"top_k": 5}, {"top_k": 40, "top_p": 0.9}, {"top_k": 89}]
    whole = [narrowed(logits, sampling(**each)) for each in settings]
    few = [narrowed(logits, sampling(**each), few=4) for each in settings]
    for (inside, doubtful), (other_inside, other_doubtful), each in zip(whole, few, settings, strict=True):
        assert torch.equal(inside, other_inside)
        assert torch.equal(doubtful, other_doubtful)
        for row, kept in zip(logits, inside, strict=True):
            ranked = sorted(range(90), key=lambda token: -float(row[token]))[: each.get("top_k", 90)]
            sums, fewest = row[ranked].softmax(dim=0).cumsum(dim=0).tolist(), len(ranked)
            if "top_p" in each:
                fewest = next(place for place, share in enumerate(sums, start=1) if share >= each["top_p"])
            assert set(kept.nonzero()[:, 0].tolist()) == set(ranked[:fewest])


def test_close_calls_of_narrowing_are_noted() -> None:
    shares = torch.tensor([[0.4, 0.3, 0.3, 0.0], [0.5, 0.25, 0.2, 0.05]], dtype=torch.float64)

    def doubtful(**settings: object) -> list[list[int]]:
        return [row.nonzero()[:, 0].tolist() for row in narrowed(shares.log(), sampling(**settings))[1]]

    assert doubtful() == [[], []]
    assert doubtful(top_k=2) == [[1, 2], []]
    assert doubtful(top_k=3) == [[], []]
    assert doubtful(top_p=0.7500001) == [[], [2]]


def test_noise_is_gumbels_and_differs_by_key_and_token() -> None:
    noise = gumbel(torch.arange(50) * 7919, 4000)
    assert float(noise.mean()) == pytest.approx(0.5772, abs=0.02)
    assert float(noise.var()) == pytest.approx(math.pi**2 / 6, abs=0.05)
    assert len(noise.unique()) == noise.numel()
    assert abs(float(torch.corrcoef(noise[:2])[0, 1])) < 0.05
    assert torch.equal(gumbel(torch.tensor([7919]), 4000)[0], noise[1])


def test_large_steps_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = PrefixModel(vocabulary=25, seed=9)
    source, mask = random_sources(6)
    whole = sample_search(model, source, mask, sampling(3), best=3)
    monkeypatch.setattr("regard.search.sampling.DRAWN_AT_ONCE", 60)
    assert sample_search(model, source, mask, sampling(3), best=3) == whole


def test_the_batch_and_the_number_of_samples_do_not_matter() -> None:
    model = PrefixModel(vocabulary=25, seed=9, scale=4.0, end_bias=1.0)
    source, mask = random_sources(20)
    config = sampling(3, top_p=0.9, temperature=1.3)
    together = sample_search(model, source, mask, config, best=3)
    more = sample_search(model, source, mask, sampling(5, top_p=0.9, temperature=1.3), best=5)
    for row in range(20):
        own, length = slice(row, row + 1), int(mask[row].sum())
        [alone] = sample_search(model, source[own, :length], mask[own, :length], config, best=3)
        assert together[row] == alone
        assert all(hypothesis in more[row] for hypothesis in alone)
    assert len({tuple(hypothesis.tokens) for row in together for hypothesis in row}) > 40


def test_another_seed_draws_others() -> None:
    model = PrefixModel(vocabulary=25, seed=9)
    source, mask = random_sources(5)
    first, again, other = (sample_search(model, source, mask, sampling(sampling_seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_narrowed_to_one_token_it_is_greedy_search() -> None:
    from regard.search.greedy import greedy_search

    model = PrefixModel(vocabulary=25, seed=3, scale=6.0, end_bias=1.0)
    source, mask = random_sources(20)
    drawn = sample_search(model, source, mask, sampling(top_k=1))
    greedy = greedy_search(model, source, mask, SearchConfig(beam=1, max_length_factor=1.0, max_length_extra=6))
    assert [row[0].tokens for row in drawn] == [row[0].tokens for row in greedy]
    assert [row[0].score for row in drawn] == pytest.approx([row[0].score for row in greedy], abs=1e-5)


def test_rules_hold_for_samples_too() -> None:
    model = PrefixModel(vocabulary=9, seed=3, end_bias=1.0)
    source, mask = random_sources(10)
    config = sampling(4, min_length=3, no_repeat_ngram=1)
    beginnings = [[4 + row % 5] for row in range(10)]
    for row, found in enumerate(sample_search(model, source, mask, config, 4, rules=rules_for(config, beginnings))):
        for hypothesis in found:
            assert hypothesis.tokens[0] == beginnings[row][0]
            assert len(set(hypothesis.tokens)) == len(hypothesis.tokens) >= 3
            assert math.fsum(hypothesis.token_log_probabilities) == pytest.approx(hypothesis.log_probability)


def test_what_cannot_be_is_refused() -> None:
    source, mask = random_sources(2)
    with pytest.raises(InputError, match="3 samples cannot give the 4 best"):
        sample_search(PrefixModel(), source, mask, sampling(3), best=4)
    with pytest.raises(ModelFolderError, match="not numbers"):
        sample_search(PrefixModel(scale=math.nan), source, mask, sampling(3))
    assert sample_search(PrefixModel(), source[:0], mask[:0], sampling()) == []
