"""Attention maps made by hand, for tests of what is shown of them."""

import numpy as np

from regard.explain.capture import AttentionMaps


def maps_of(source, target, read=(), seen=(), layers=2, heads=2):
    """Even attention, but for `read` (encoder) and `seen` (cross): (layer, head, row word, column word, share)."""
    source, target = tuple(source.split()), tuple(target.split())
    size, length = len(source), len(target)
    encoder = np.full((layers, heads, size, size), 1 / size, dtype=np.float32)
    cross = np.full((layers, heads, length, size), 1 / size, dtype=np.float32)
    for weights, rows, favourites in ((encoder, source, read), (cross, target, seen)):
        for layer, head, row, column, share in favourites:
            weights[layer, head, rows.index(row)] = (1 - share) / (size - 1)
            weights[layer, head, rows.index(row), source.index(column)] = share
    causal = np.tril(np.ones((length, length), dtype=np.float32))
    decoder = np.broadcast_to(causal / causal.sum(axis=-1, keepdims=True), (layers, heads, length, length)).copy()
    return AttentionMaps(source, target, ("<s>", *target[:-1]), encoder, decoder, cross)
