"""The computed shuffle: a bijection, steered by its seed, that looks like chance."""

import numpy as np
import pytest

from regard.data.order import mix, permutation, shuffled


@pytest.mark.parametrize("size", [*range(1, 70), 255, 256, 257, 1000, 4095, 4096, 4097, 65_537, 200_000])
def test_is_a_bijection(size):
    assert np.array_equal(np.sort(shuffled(size, 7, 1)), np.arange(size))


def test_parts_equal_the_whole():
    whole = shuffled(10_007, 3)
    for start, stop in [(0, 1), (17, 4000), (9000, 10_007), (5, 5)]:
        assert np.array_equal(permutation(np.arange(start, stop), 10_007, 3), whole[start:stop])


def test_large_ranges_need_no_table():
    size = 10**12
    places = np.arange(0, size, size // 1000)
    values = permutation(places, size, 5)
    assert len(set(values.tolist())) == len(places)
    assert values.min() >= 0
    assert values.max() < size
    assert abs(values.mean() / size - 0.5) < 0.05


def test_every_word_of_the_seed_counts():
    orders = [
        shuffled(500, *seed) for seed in [(1,), (2,), (1, 0), (0, 1), (1, 1), (1, 2), (2, 1), (1 << 64,), (1 << 65,)]
    ]
    for i, one in enumerate(orders):
        for other in orders[:i]:
            assert np.mean(one == other) < 0.05


def test_the_order_is_the_same_on_every_machine():
    """Fixed for ever: a resumed run must find the order it left."""
    assert shuffled(10, 1, 2, 3).tolist() == [6, 3, 9, 0, 8, 5, 1, 7, 4, 2]
    assert mix(1, 2, 3) == 16239038894714499693


def test_each_number_comes_to_each_place_equally_often():
    size, shuffles = 12, 6000
    counts = np.zeros((size, size))
    for seed in range(shuffles):
        counts[np.arange(size), shuffled(size, seed)] += 1
    expected = shuffles / size
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert chi_squared < 121 + 5 * (2 * 121) ** 0.5  # (12 - 1)^2 degrees of freedom, five standard deviations


def test_neighbours_are_torn_apart():
    values = shuffled(100_000, 9)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(values, np.arange(len(values)))[0, 1]) < 0.02
