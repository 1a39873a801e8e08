"""A deterministic split of sentence pairs into train, valid and test, with no sentence on two sides of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from regard.data.sentences import normalized

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
    parts: dict[str, list[TextPair]] = {"train": [], "valid": [], "test": []}
    for group in _linked(distinct):
        part = next((name for name in ("test", "valid") if len(parts[name]) + len(group) <= held_out), "train")
        parts["train" if len(group) > LARGEST_HELD_OUT_GROUP else part] += group
    return {name: sorted(part, key=_digest) for name, part in parts.items()}


def _digest(pair: TextPair) -> bytes:
    return hashlib.sha256("\t".join(pair).encode()).digest()


def _linked(pairs: list[TextPair]) -> list[list[TextPair]]:
    """Groups of pairs that share sentences, directly or through others, in the order of each group's first pair."""
    parent = list(range(len(pairs)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    first_with: dict[tuple[int, str], int] = {}
    for number, pair in enumerate(pairs):
        for side, text in enumerate(pair):
            other = root(first_with.setdefault((side, normalized(text)), number))
            here = root(number)
            parent[max(other, here)] = min(other, here)
    groups: dict[int, list[TextPair]] = {}
    for number, pair in enumerate(pairs):
        groups.setdefault(root(number), []).append(pair)
    return list(groups.values())
