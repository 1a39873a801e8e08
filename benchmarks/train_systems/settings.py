"""What every system is told alike: shapes, batches, optimiser. It imports nothing, and so costs no memory."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder-decoder Transformer."""

    name: str
    encoder_layers: int
    decoder_layers: int
    width: int
    feed_forward: int
    heads: int


SHAPES = {
    "tiny": Shape("tiny", encoder_layers=4, decoder_layers=4, width=128, feed_forward=256, heads=4),
    "small": Shape("small", encoder_layers=3, decoder_layers=3, width=256, feed_forward=1024, heads=4),
}

SOURCE, TARGET = "en", "de"
VOCABULARY = 10_000
BATCH_TOKENS = 4096
MAX_TOKENS = 256
DROPOUT = 0.1
LABEL_SMOOTHING = 0.1
LEARNING_RATE = 1e-3
WARMUP_STEPS = 2000
"""Of the learning rate's rise, not of the measurement."""
BETAS = (0.9, 0.98)
EPSILON = 1e-9
SEED = 1
PAD = 0


def rate_factor(step: int) -> float:
    """The learning rate of a step, counted from 1, as a share of the peak: the inverse-square-root schedule."""
    return min(step / WARMUP_STEPS, math.sqrt(WARMUP_STEPS / step))
