import random

import numpy as np
import pytest

from regard.errors import CorpusError
from regard.evaluate.bootstrap import confidence_interval, paired_bootstrap
from regard.evaluate.metrics import Measurement, bleu, bleu_metric, chrf_metric

WORDS = ["a", "man", "woman", "dog", "runs", "walks", "in", "the", "park", "with", "red", "blue", "ball", "two", "and"]


def sentences(count: int = 150) -> list[str]:
    generator = random.Random(3)
    return [" ".join(generator.choices(WORDS, k=generator.randint(5, 15))) for _ in range(count)]


def damaged(texts: list[str], share: float, seed: int) -> list[str]:
    """The texts with a share of their words changed."""
    generator = random.Random(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in text.split())
        for text in texts
    ]


REFERENCES = sentences()


def measured(share: float, seed: int) -> Measurement:
    return Measurement(bleu_metric(), damaged(REFERENCES, share, seed), REFERENCES)


def test_a_sample_is_scored_as_its_sentences_would_be() -> None:
    hypotheses = damaged(REFERENCES, 0.3, 1)
    counts = np.random.default_rng(5).integers(0, 3, len(REFERENCES))
    repeated = [index for index, count in enumerate(counts) for _ in range(count)]
    expected = bleu([hypotheses[index] for index in repeated], [REFERENCES[index] for index in repeated]).value
    assert Measurement(bleu_metric(), hypotheses, REFERENCES).value(counts) == pytest.approx(expected, abs=1e-9)


def test_an_interval_holds_the_score_and_depends_on_the_seed_alone() -> None:
    measurement = measured(0.3, 1)
    interval = confidence_interval(measurement, samples=200, seed=7)
    assert interval.low < measurement.score.value < interval.high
    assert 1.0 < interval.high - interval.low < 15.0
    assert interval == confidence_interval(measured(0.3, 1), samples=200, seed=7)
    assert interval != confidence_interval(measurement, samples=200, seed=8)


def test_a_system_does_not_differ_from_itself() -> None:
    result = paired_bootstrap(measured(0.3, 1), measured(0.3, 1), samples=100)
    assert result.difference == 0.0
    assert result.p_value == 1.0
    assert result.better == 0.5
    assert (result.difference_interval.low, result.difference_interval.high) == (0.0, 0.0)


def test_a_clearly_better_system_is_found_from_both_sides() -> None:
    better, worse = measured(0.2, 1), measured(0.4, 2)
    result, reverse = paired_bootstrap(better, worse, samples=300), paired_bootstrap(worse, better, samples=300)
    assert result.difference > 5
    assert result.p_value == reverse.p_value == pytest.approx(1 / 301)
    assert result.difference_interval.low > 0 > reverse.difference_interval.high
    assert (result.better, reverse.better) == (1.0, 0.0)


def test_equally_good_systems_are_mostly_not_told_apart() -> None:
    """Under the null hypothesis p-values are about uniform: some 5 % of them fall below 0.05, not half."""
    systems = [measured(0.3, seed) for seed in range(12)]
    values = [paired_bootstrap(systems[i], systems[i + 1], samples=200).p_value for i in range(0, 12, 2)]
    assert sum(value < 0.05 for value in values) <= 2
    assert max(values) > 0.2


def test_a_comparison_is_deterministic_and_signed() -> None:
    first = paired_bootstrap(measured(0.3, 1), measured(0.31, 2), samples=100, seed=3)
    assert first == paired_bootstrap(measured(0.3, 1), measured(0.31, 2), samples=100, seed=3)
    assert "tok:13a" in first.signature
    assert first.name == "BLEU"


def test_chrf_can_be_resampled_too() -> None:
    measurement = Measurement(chrf_metric(), damaged(REFERENCES, 0.3, 1), REFERENCES)
    interval = confidence_interval(measurement, samples=100)
    assert interval.low < measurement.score.value < interval.high


def test_different_test_sets_cannot_be_compared() -> None:
    short = Measurement(bleu_metric(), REFERENCES[:5], REFERENCES[:5])
    with pytest.raises(CorpusError, match="150 sentences and the other 5"):
        paired_bootstrap(measured(0.3, 1), short)
