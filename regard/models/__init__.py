"""Whole architectures built from parts, one file each, all under `contract.py`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from regard.config import ModelConfig
from regard.models.contract import SequenceToSequence
from regard.models.transformer import build_transformer
from regard.nn.randomness import Randomness

MODELS: dict[str, Callable[[ModelConfig, int, int, Randomness], SequenceToSequence]] = {
    "transformer": build_transformer,
}


def build_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, seed: int = 1
) -> SequenceToSequence:
    """A model with fresh weights that are a function of the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MODELS[config.architecture](config, source_vocabulary, target_vocabulary, Randomness(seed))
