"""A deterministic split of sentence pairs into training, validation and test, with no sentence on two sides of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.sentences import SILENCE, Hashes, repeats, sentence_number

LARGEST_HELD_OUT_GROUP = 4
"""Larger groups of pairs that share sentences stay in the training set: one sentence should not fill a test set."""

TextPair = tuple[str, str]


def split_by_sentence(pairs: Iterable[TextPair], held_out: int) -> dict[str, list[TextPair]]:
    """Split into `train`, and `valid` and `test` of at most `held_out` pairs each, by the set of pairs alone.

    Pairs that share a sentence, on either side and but for case, spaces and punctuation, stay together, and so do
    pairs that are linked through others. The groups are put in the order of their SHA-256; the first fill `test`, the
    next `valid`. Repeated pairs are taken once. Each part is in the order of its pairs' SHA-256.
    """
    distinct = sorted(set(pairs), key=_digest)
    sides = [np.array([sentence_number(pair[side]) for pair in distinct], dtype=np.int64) for side in (0, 1)]
    parts: dict[str, list[TextPair]] = {"train": [], "valid": [], "test": []}
    names, capacities = ("train", "test", "valid"), (held_out, held_out)
    for pair, part in zip(distinct, assign(linked(sides), np.arange(len(distinct)), capacities), strict=True):
        parts[names[part]].append(pair)
    return parts


def _digest(pair: TextPair) -> bytes:
    return hashlib.sha256("\t".join(pair).encode()).digest()


def linked(sides: Sequence[Hashes]) -> NDArray[np.int64]:
    """For each pair the first of its group: of those that share a sentence with it, directly or through others.

    `sides` are the sentences of each side, as numbers.
    """
    first = np.arange(len(sides[0]))

    def root(number: int) -> int:
        while first[number] != number:
            first[number] = first[first[number]]
            number = int(first[number])
        return number

    for numbers in sides:
        heard = np.flatnonzero(numbers != SILENCE)
        for again, before in zip(*repeats(numbers[heard]), strict=True):
            one, other = sorted((root(int(heard[again])), root(int(heard[before]))))
            first[other] = one
    while not np.array_equal(further := first[first], first):
        first = further
    return first


def assign(groups: NDArray[np.int64], order: NDArray[np.int64], capacities: Sequence[int]) -> NDArray[np.int64]:
    """For each pair the part it belongs to: 0 for training, n for the n-th held-out one, which holds so many at most.

    `groups` names each pair's group, and `order` has all pairs as they are to be taken, with their groups. Large
    groups are trained on.
    """
    members = np.bincount(groups, minlength=len(groups))
    part_of_group = np.zeros(len(groups), dtype=np.int64)
    left = list(capacities)
    _, places = np.unique(groups[order], return_index=True)
    for group in groups[order[np.sort(places)]]:
        size = int(members[group])
        if not any(left):
            break
        if size <= LARGEST_HELD_OUT_GROUP:
            part = next((number for number, room in enumerate(left) if size <= room), None)
            if part is not None:
                left[part] -= size
                part_of_group[group] = part + 1
    return part_of_group[groups]
