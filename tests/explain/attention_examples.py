"""Attention maps made by hand, for tests of what is shown of them."""

import numpy as np

from regard.explain.capture import AttentionMaps


def maps_of(source, target, favourites=(), layers=2, heads=2):
    """Even attention, but for `favourites`: (layer, head, row word, column word, share) of the encoder."""
    source, target = tuple(source.split()), tuple(target.split())
    size, length = len(source), len(target)
    encoder = np.full((layers, heads, size, size), 1 / size, dtype=np.float32)
    for layer, head, row, column, share in favourites:
        weights = np.full(size, (1 - share) / (size - 1), dtype=np.float32)
        weights[source.index(column)] = share
        encoder[layer, head, source.index(row)] = weights
    causal = np.tril(np.ones((length, length), dtype=np.float32))
    decoder = np.broadcast_to(causal / causal.sum(axis=-1, keepdims=True), (layers, heads, length, length)).copy()
    cross = np.full((layers, heads, length, size), 1 / size, dtype=np.float32)
    return AttentionMaps(source, target, ("<s>", *target[:-1]), encoder, decoder, cross)
