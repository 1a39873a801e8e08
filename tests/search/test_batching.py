import random

import torch

from regard.search.batching import pad, token_batches


def test_batches_hold_every_index_once_within_the_budget() -> None:
    lengths = [random.Random(1).randint(1, 30) for _ in range(200)] + [99]
    batches = list(token_batches(lengths, 60))
    assert sorted(index for batch in batches for index in batch) == list(range(201))
    assert batches[0] == [200], "a row longer than the budget is a batch of its own"
    for batch in batches[1:]:
        assert len(batch) * max(lengths[index] for index in batch) <= 60


def test_rows_are_limited_too() -> None:
    assert [len(batch) for batch in token_batches([2] * 7, 100, most_rows=3)] == [3, 3, 1]
    assert [len(batch) for batch in token_batches([2] * 2, 100, most_rows=0)] == [1, 1]


def test_padding_is_masked() -> None:
    padded, mask = pad([[5, 6, 7], [8]], torch.device("cpu"))
    assert padded.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]
