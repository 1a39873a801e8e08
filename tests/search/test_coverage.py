"""The coverage penalty is GNMT's formula over the attention that a teacher-forced pass records."""

import math

import pytest
import torch
from toy_models import PrefixModel, random_sources

from regard.config import ModelConfig, SearchConfig
from regard.data.vocabulary import BOS_ID
from regard.errors import InputError
from regard.models import build_model
from regard.models.contract import SequenceToSequence
from regard.search.beam import beam_search
from regard.search.coverage import CoverageEngine
from regard.search.hypotheses import Hypothesis
from regard.search.length_penalty import length_penalty
from regard.search.sampling import sample_search


def small_transformer() -> SequenceToSequence:
    config = ModelConfig(width=32, heads=2, feed_forward=32, encoder_layers=1, decoder_layers=2)
    model = build_model(config, 50, 50, seed=1).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def obvious_penalty(model: SequenceToSequence, source: torch.Tensor, found: Hypothesis) -> float:
    """For source [S], from a pass over the whole output."""
    recorded: list[torch.Tensor] = []
    inputs = [BOS_ID, *found.tokens] if found.finished else [BOS_ID, *found.tokens[:-1]]

    def record(name: str, weights: torch.Tensor) -> None:
        if name.startswith("cross"):
            recorded.append(weights[0])

    with torch.inference_mode():
        memory = model.encode(source[None], torch.ones(1, len(source), dtype=torch.bool))
        model.decode(torch.tensor([inputs]), memory, record)
    attention = torch.stack(recorded).mean(dim=(0, 1))  # [T, S]
    return sum(math.log(min(float(share), 1.0)) for share in attention.sum(dim=0))


@pytest.mark.parametrize("search", [beam_search, sample_search])
def test_scores_hold_the_penalty(search: object) -> None:
    model = small_transformer()
    source, mask = random_sources(6)
    config = SearchConfig(
        beam=4,
        samples=4,
        sampling=search is sample_search,
        coverage_penalty=0.3,
        max_length_factor=1,
        max_length_extra=3,
    )
    found = search(CoverageEngine(model), source, mask, config, 4)  # type: ignore[operator]
    for row, hypotheses in enumerate(found):
        for each in hypotheses:
            penalty = length_penalty(len(each.tokens) + each.finished, config)
            expected = each.log_probability / penalty + 0.3 * obvious_penalty(model, source[row][mask[row]], each)
            assert each.score == pytest.approx(expected, abs=1e-4)


def test_ending_early_changes_nothing_with_a_penalty() -> None:
    model = small_transformer()
    source, mask = random_sources(12)
    config = SearchConfig(beam=4, coverage_penalty=0.2, max_length_factor=1, max_length_extra=8)
    early = beam_search(CoverageEngine(model), source, mask, config, 1)
    whole = beam_search(CoverageEngine(model), source, mask, config, 4)
    assert [row[0].tokens for row in early] == [row[0].tokens for row in whole]


def test_without_weight_it_is_plain_search() -> None:
    model = small_transformer()
    source, mask = random_sources(5)
    config = SearchConfig(beam=3, max_length_factor=1, max_length_extra=3)
    plain, covered = (beam_search(engine, source, mask, config, 3) for engine in (model, CoverageEngine(model)))
    assert [[each.tokens for each in row] for row in plain] == [[each.tokens for each in row] for row in covered]


def test_a_model_without_cross_attention_is_refused_by_name() -> None:
    source, mask = random_sources(1)
    config = SearchConfig(beam=2, coverage_penalty=0.2)
    with pytest.raises(InputError, match=r"\(PrefixModel\) gives no cross-attention"):
        beam_search(CoverageEngine(PrefixModel()), source, mask, config)
