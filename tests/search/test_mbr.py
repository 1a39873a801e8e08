"""The fast chrF of all pairs equals sacrebleu's, one by one; the choice equals the obvious one."""

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from regard.search.hypotheses import Hypothesis
from regard.search.mbr import by_utility, chrf_matrix, expected_utilities

TEXTS = ["the cat sat on the mat", "a cat sat on a mat.", "Der Hund", "aaaa aaaa", "a", "", "  ", "猫坐在垫子上", "cat"]


def random_texts(count: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return [
        " ".join(generator.choices(["ab", "abc", "ba", "c", "aab"], k=generator.randint(0, 9))) for _ in range(count)
    ]


@pytest.mark.parametrize("texts", [TEXTS, random_texts(25, 1), ["one"]], ids=["chosen", "random", "one"])
def test_chrf_of_all_pairs_is_sacrebleus(texts: list[str]) -> None:
    metric = CHRF()
    expected = [[metric.sentence_score(one, [other]).score for other in texts] for one in texts]
    np.testing.assert_allclose(chrf_matrix(texts), expected, atol=1e-9)


def test_utility_is_the_weighted_mean_over_all() -> None:
    texts, weights = ["a cat", "a dog", "a cat"], [0.5, 0.25, 0.25]
    matrix = chrf_matrix(["a cat", "a dog"])
    expected = matrix @ [0.75, 0.25]
    assert expected_utilities(texts, weights) == pytest.approx([expected[0], expected[1], expected[0]])
    assert expected_utilities(texts) == pytest.approx([*(matrix @ [2 / 3, 1 / 3]), (matrix @ [2 / 3, 1 / 3])[0]])


def hypothesis(probability: float, finished: bool = True) -> Hypothesis:
    log_probability = math.log(probability)
    return Hypothesis([], log_probability, log_probability, finished, [])


def test_what_is_most_like_the_others_wins() -> None:
    texts = ["something else altogether", "the cat sat there", "the cat sat here", "the cat sat"]
    equal = [hypothesis(0.2)] * 4
    assert [place for place, _ in by_utility(texts, equal, sampled=True)][-1] == 0
    sure = [hypothesis(0.97), *[hypothesis(0.01)] * 3]
    assert by_utility(texts, sure, sampled=False)[0][0] == 0, "in a beam, the likely counts for more"
    assert by_utility(texts, sure, sampled=True)[0][0] != 0
    cut_off = [hypothesis(0.2), *[hypothesis(0.2, finished=False)] * 3]
    assert by_utility(texts, cut_off, sampled=True)[0][0] == 0
