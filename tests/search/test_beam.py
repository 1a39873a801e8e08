import math

import pytest
import torch
from torch import Tensor
from toy_models import PrefixModel, TableModel, all_outputs, random_sources

from regard.config import ModelConfig, SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from regard.errors import InputError, ModelFolderError
from regard.models import build_model
from regard.models.contract import SequenceToSequence, State
from regard.search.beam import beam_search
from regard.search.greedy import greedy_search
from regard.search.hypotheses import Hypothesis

PENALTIES = [("paper", 0.6), ("paper", 2.0), ("mean", 1.0), ("none", 0.0)]


def search_config(beam: int, extra: int = 4, kind: str = "paper", alpha: float = 0.6) -> SearchConfig:
    """A limit of exactly `extra` tokens: the factor is too small to add any."""
    return SearchConfig(beam=beam, length_penalty=kind, alpha=alpha, max_length_factor=1e-6, max_length_extra=extra)


def same(left: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> bool:
    return [[found.tokens for found in row] for row in left] == [[found.tokens for found in row] for row in right]


@pytest.mark.parametrize(("kind", "alpha"), PENALTIES)
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_true_best_of_all_outputs(kind: str, alpha: float, seed: int) -> None:
    model = PrefixModel(vocabulary=7, seed=seed, end_bias=-1.0)
    source, mask = random_sources(3, seed)
    config = search_config(beam=100, kind=kind, alpha=alpha)
    found = beam_search(model, source, mask, config, best=5)
    for row in range(len(source)):
        expected = all_outputs(model, source[row][mask[row]], config, longest=4)[:5]
        assert [hypothesis.tokens for hypothesis in found[row]] == [output.tokens for output in expected]
        for hypothesis, output in zip(found[row], expected, strict=True):
            assert hypothesis.finished
            assert hypothesis.score == pytest.approx(output.score, abs=1e-5)
            assert hypothesis.log_probability == pytest.approx(output.log_probability, abs=1e-5)


@pytest.mark.parametrize(("kind", "alpha"), PENALTIES)
def test_ending_early_changes_nothing(kind: str, alpha: float) -> None:
    """For one output a search may end early; for as many as the beam holds it may not: the first is the same."""
    model = PrefixModel(vocabulary=30, seed=3, scale=8.0)
    source, mask = random_sources(40)
    config = search_config(beam=4, extra=12, kind=kind, alpha=alpha)
    early = beam_search(model, source, mask, config, best=1)
    steps_early = len(model.rows_seen)
    whole = beam_search(model, source, mask, config, best=4)
    rows_early, rows_whole = sum(model.rows_seen[:steps_early]), sum(model.rows_seen[steps_early:])
    assert same(early, [row[:1] for row in whole])
    assert rows_early < rows_whole


@pytest.mark.parametrize(("kind", "alpha"), PENALTIES)
def test_a_beam_of_one_is_greedy_search(kind: str, alpha: float) -> None:
    model = PrefixModel(vocabulary=40, seed=5, scale=6.0, end_bias=2.0)
    source, mask = random_sources(60)
    config = SearchConfig(beam=1, length_penalty=kind, alpha=alpha, max_length_factor=1.5, max_length_extra=3)
    greedy = greedy_search(model, source, mask, config)
    assert beam_search(model, source, mask, config) == greedy
    assert {row[0].finished for row in greedy} == {True, False}, "the sample must hold both kinds"


def test_greedy_search_takes_the_likeliest_token_at_each_step() -> None:
    model = PrefixModel(vocabulary=20, seed=2)
    source, mask = random_sources(1)
    config = search_config(beam=1, extra=6)
    tokens, log_probability = [BOS_ID], 0.0
    state = model.start(model.encode(source, mask))
    while len(tokens) <= 6 and tokens[-1] != EOS_ID:
        logits, state = model.step(torch.tensor(tokens[-1:]), state)
        log_probabilities = logits[0].log_softmax(dim=-1)
        allowed = [token for token in range(20) if token not in (PAD_ID, BOS_ID, UNK_ID)]
        tokens.append(max(allowed, key=lambda token: float(log_probabilities[token])))
        log_probability += float(log_probabilities[tokens[-1]])
    [[found]] = greedy_search(model, source, mask, config)
    assert found.tokens == [token for token in tokens[1:] if token != EOS_ID]
    assert found.log_probability == pytest.approx(log_probability, abs=1e-6)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_sentence_is_not_changed_by_its_batch(beam: int) -> None:
    model = PrefixModel(vocabulary=25, seed=9, scale=6.0, end_bias=1.0)
    source, mask = random_sources(30)
    config = SearchConfig(beam=beam, max_length_factor=1.2, max_length_extra=2)
    together = beam_search(model, source, mask, config, best=beam)
    alone = [
        beam_search(
            model, source[row : row + 1, : mask[row].sum()], mask[row : row + 1, : mask[row].sum()], config, beam
        )
        for row in range(len(source))
    ]
    assert together == [found for [found] in alone]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_sentence_is_not_changed_by_its_batch_in_a_transformer(beam: int) -> None:
    model = small_transformer()
    source, mask = random_sources(12)
    config = SearchConfig(beam=beam, max_length_factor=1.0, max_length_extra=4)
    together = beam_search(model, source, mask, config, best=beam)
    for row, found in enumerate(together):
        length = int(mask[row].sum())
        [alone] = beam_search(model, source[row : row + 1, :length], mask[row : row + 1, :length], config, beam)
        assert [hypothesis.tokens for hypothesis in found] == [hypothesis.tokens for hypothesis in alone]
        assert [hypothesis.score for hypothesis in found] == pytest.approx([other.score for other in alone], abs=1e-4)


def test_a_transformers_wide_beam_finds_the_true_best() -> None:
    config = ModelConfig(width=16, heads=2, feed_forward=16, encoder_layers=1, decoder_layers=2, tie="target")
    model = build_model(config, 50, 8, seed=3).eval()
    source, mask = random_sources(2, seed=4)
    search = search_config(beam=100)
    found = beam_search(model, source, mask, search, best=3)
    for row in range(len(source)):
        with torch.inference_mode():
            expected = all_outputs(model, source[row][mask[row]], search, longest=4)[:3]
        assert [hypothesis.tokens for hypothesis in found[row]] == [output.tokens for output in expected]


def small_transformer() -> SequenceToSequence:
    config = ModelConfig(width=32, heads=2, feed_forward=32, encoder_layers=1, decoder_layers=2)
    return build_model(config, 50, 50, seed=1).eval()


def test_a_finished_hypothesis_holds_its_place() -> None:
    """With two places and one taken by the empty output, "4 6" (0.18) must give way to "4 5 7" (0.176)."""
    table = {(): {EOS_ID: 0.5, 4: 0.4, 5: 0.1}, (4,): {5: 0.55, 6: 0.45}, (4, 5): {EOS_ID: 0.2, 7: 0.8}}
    source, mask = random_sources(1)
    config = search_config(beam=2, extra=9, kind="none")
    [found] = beam_search(TableModel(table, 8), source, mask, config, best=2)
    assert [hypothesis.tokens for hypothesis in found] == [[], [4, 5, 7]]
    assert [math.exp(hypothesis.log_probability) for hypothesis in found] == pytest.approx([0.5, 0.4 * 0.55 * 0.8])
    [wider] = beam_search(TableModel(table, 8), source, mask, search_config(beam=3, extra=9, kind="none"), best=2)
    assert [hypothesis.tokens for hypothesis in wider] == [[], [4, 6]]


def test_finished_sentences_leave_the_batch() -> None:
    model = PrefixModel(vocabulary=20, seed=1, end_bias=2.0)
    source, mask = random_sources(20)
    beam_search(model, source, mask, search_config(beam=3, extra=15))
    assert model.rows_seen[0] == 20, "one row a sentence at first"
    assert model.rows_seen[1] <= 60
    assert model.rows_seen[1:] == sorted(model.rows_seen[1:], reverse=True)
    assert model.rows_seen[-1] < model.rows_seen[1]


@pytest.mark.parametrize("beam", [1, 3])
def test_each_sentence_has_its_own_length_limit(beam: int) -> None:
    model = PrefixModel(vocabulary=20, end_bias=-100.0)
    source, mask = random_sources(10)
    config = SearchConfig(beam=beam, max_length_factor=1.5, max_length_extra=2)
    for row, found in enumerate(beam_search(model, source, mask, config, best=beam)):
        for hypothesis in found:
            assert not hypothesis.finished
            assert len(hypothesis.tokens) == math.floor(1.5 * int(mask[row].sum())) + 2


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_no_output_is_longer_than_the_longest_allowed(search: object) -> None:
    model = PrefixModel(vocabulary=20, end_bias=-100.0)
    source, mask = random_sources(5)
    config = SearchConfig(beam=1, max_length_factor=5.0)
    found = search(model, source, mask, config, longest=7)  # type: ignore[operator]
    assert {len(row[0].tokens) for row in found} == {7}


def test_no_output_holds_a_mark() -> None:
    class LikesMarks(PrefixModel):
        def step(self, tokens: Tensor, state: State, record: object = None) -> tuple[Tensor, State]:
            logits, state = super().step(tokens, state)
            logits[:, [PAD_ID, BOS_ID, UNK_ID]] += 50.0
            return logits, state

    source, mask = random_sources(10)
    for row in beam_search(LikesMarks(vocabulary=12), source, mask, search_config(beam=5, extra=8), best=5):
        for hypothesis in row:
            assert not {PAD_ID, BOS_ID, EOS_ID, UNK_ID} & set(hypothesis.tokens)


def test_finished_hypotheses_come_first_and_scores_fall() -> None:
    model = PrefixModel(vocabulary=15, seed=8, end_bias=-0.5)
    source, mask = random_sources(30)
    rows = beam_search(model, source, mask, search_config(beam=6, extra=3), best=6)
    assert any(not hypothesis.finished for row in rows for hypothesis in row)
    for row in rows:
        keys = [(not hypothesis.finished, -hypothesis.score) for hypothesis in row]
        assert keys == sorted(keys)
        assert len({(*hypothesis.tokens, hypothesis.finished) for hypothesis in row}) == len(row) == 6


def test_a_vocabulary_smaller_than_the_beam() -> None:
    source, mask = random_sources(4)
    rows = beam_search(PrefixModel(vocabulary=5), source, mask, search_config(beam=50, extra=3), best=50)
    for row in rows:  # one ordinary token: "", "a", "aa" end by themselves, "aaa" at the limit
        assert sorted(hypothesis.tokens for hypothesis in row) == [[], [4], [4, 4], [4, 4, 4]]


def test_a_batch_of_nothing() -> None:
    nothing = torch.zeros(0, 3, dtype=torch.long)
    assert beam_search(PrefixModel(), nothing, nothing.bool(), search_config(2)) == []
    assert greedy_search(PrefixModel(), nothing, nothing.bool(), search_config(1)) == []


def test_more_outputs_than_the_beam_holds_are_refused() -> None:
    source, mask = random_sources(1)
    with pytest.raises(InputError, match="beam of 3 cannot give the 4 best"):
        beam_search(PrefixModel(), source, mask, search_config(3), best=4)


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_a_broken_model_is_named(search: object) -> None:
    source, mask = random_sources(2)
    with pytest.raises(ModelFolderError, match="not numbers"):
        search(PrefixModel(scale=math.nan), source, mask, search_config(1))  # type: ignore[operator]
