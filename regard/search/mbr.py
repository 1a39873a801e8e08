"""Minimum Bayes risk: of several outputs, take the one that is most like the others, in the mean, by chrF.

u(y) = sum over candidates z of P(z) * chrF(y, z)

For samples every P(z) is the same, since likely ones come more often; for the hypotheses of a beam, P(z) is the
model's probability, made to sum to 1. chrF (Popović, 2015) is as sacrebleu has it: characters without spaces, n-grams
of 1 to 6, beta 2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.search.hypotheses import Hypothesis

ORDER = 6
BETA = 2.0


def by_utility(texts: Sequence[str], hypotheses: Sequence[Hypothesis], sampled: bool) -> list[tuple[int, float]]:
    """The places of the texts of hypotheses, best first, each with its utility; cut off ones come last, as always."""
    highest = max(each.log_probability for each in hypotheses)
    weights = None if sampled else [math.exp(each.log_probability - highest) for each in hypotheses]
    utilities = expected_utilities(texts, weights)
    order = sorted(range(len(texts)), key=lambda place: (not hypotheses[place].finished, -round(utilities[place], 6)))
    return [(place, utilities[place]) for place in order]


def expected_utilities(texts: Sequence[str], weights: Sequence[float] | None = None) -> list[float]:
    """u of each text, from 0 to 100, over all of them; without `weights`, all count the same."""
    unique = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(unique)}
    shares = np.zeros(len(unique))
    for text, weight in zip(texts, weights if weights is not None else [1.0] * len(texts), strict=True):
        shares[place[text]] += weight
    utilities = chrf_matrix(unique) @ (shares / shares.sum())
    return [float(utilities[place[text]]) for text in texts]


def chrf_matrix(texts: Sequence[str]) -> NDArray[np.float64]:
    """chrF of every text (row) with every other as its reference (column), [N, N]."""
    characters = ["".join(text.split()) for text in texts]
    precision = np.zeros((len(texts), len(texts)))
    recall, orders = np.zeros_like(precision), np.zeros_like(precision)
    for order in range(1, ORDER + 1):
        codes = _unary_codes(characters, order)
        matches = (codes @ codes.T).astype(np.float64)
        totals = np.array([max(0, len(text) - order + 1) for text in characters], dtype=np.float64)
        both = (totals[:, None] > 0) & (totals[None] > 0)
        precision += np.where(both, matches / np.maximum(totals, 1)[:, None], 0)
        recall += np.where(both, matches / np.maximum(totals, 1)[None], 0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    divisor = BETA**2 * precision + recall
    score: NDArray[np.float64] = (1 + BETA**2) * precision * recall / np.where(divisor > 0, divisor, 1)
    return 100 * score


def _unary_codes(texts: Sequence[str], order: int) -> NDArray[np.float32]:
    """A column for the first, second, … time that each n-gram is in a text, [N, columns], 0 or 1.

    The matches of two texts, the sum of min(count, count), are then a product of two rows.
    """
    column: dict[tuple[str, int], int] = {}
    places: list[list[int]] = []
    for text in texts:
        counts = Counter(text[start : start + order] for start in range(len(text) - order + 1))
        times = ((ngram, time) for ngram, count in counts.items() for time in range(count))
        places.append([column.setdefault(each, len(column)) for each in times])
    codes = np.zeros((len(texts), len(column)), dtype=np.float32)
    for row, held in enumerate(places):
        codes[row, held] = 1
    return codes
