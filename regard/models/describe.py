"""What a model is made of: its parts, shapes, parameters, and multiplications and additions for each token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.config import Config
from regard.data.vocabulary import FIRST_LEARNED_ID
from regard.models import build_model
from regard.models.contract import SequenceToSequence


@dataclass(frozen=True)
class Part:
    """A module that holds parameters of its own."""

    name: str
    kind: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    parameters: int
    shared_with: str | None = None


@dataclass(frozen=True)
class Operations:
    """Multiplications and additions of matrix products, for one token of a sentence pair of a given length."""

    encoder: int
    decoder: int
    output: int

    @property
    def forward(self) -> int:
        return self.encoder + self.decoder + self.output

    @property
    def training(self) -> int:
        """Forward and backward: a backward pass multiplies twice where a forward pass multiplies once."""
        return 3 * self.forward


@dataclass(frozen=True)
class Description:
    """A model, in figures."""

    architecture: str
    source_vocabulary: int
    target_vocabulary: int
    parts: tuple[Part, ...]
    parameters: int
    length: int
    operations: Operations

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "source_vocabulary": self.source_vocabulary,
            "target_vocabulary": self.target_vocabulary,
            "parameters": self.parameters,
            "parts": [
                {
                    "name": part.name,
                    "kind": part.kind,
                    "shapes": {name: list(shape) for name, shape in part.shapes},
                    "parameters": part.parameters,
                    "shared_with": part.shared_with,
                }
                for part in self.parts
            ],
            "operations_per_token": {
                "sentence_length": self.length,
                "encoder": self.operations.encoder,
                "decoder": self.operations.decoder,
                "output": self.operations.output,
                "forward": self.operations.forward,
                "training": self.operations.training,
            },
        }


def describe(
    config: Config, source_vocabulary: int | None = None, target_vocabulary: int | None = None, length: int = 25
) -> Description:
    """Describe the model of a configuration; without vocabulary sizes, the tokenizer is taken to be full."""
    source = source_vocabulary or _full(config, source=True)
    target = target_vocabulary or _full(config)
    with torch.device("meta"):
        model = build_model(config.model, source, target)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    operations = _operations(config, target, length)
    return Description(config.model.architecture, source, target, tuple(_parts(model)), parameters, length, operations)


def _full(config: Config, source: bool = False) -> int:
    """The size of a vocabulary that is full; one of bytes cannot be larger than its bytes and marks."""
    tags = len({target for _, target in config.data.pairs}) if config.data.tags else 0
    if config.tokenizer.kind != "byte":
        return config.tokenizer.vocabulary_size
    return FIRST_LEARNED_ID + (tags if source or config.tokenizer.shared else 0)


def _parts(model: SequenceToSequence) -> Iterator[Part]:
    seen: dict[int, str] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        own = list(module.named_parameters(recurse=False))
        if not own:
            continue
        shared = seen.get(id(own[0][1]))
        fresh = [parameter for _, parameter in own if id(parameter) not in seen]
        seen.update({id(parameter): name for _, parameter in own if id(parameter) not in seen})
        shapes = tuple((local, tuple(parameter.shape)) for local, parameter in own)
        yield Part(name, _kind(module), shapes, sum(parameter.numel() for parameter in fresh), shared)


def _kind(module: nn.Module) -> str:
    return type(module).__name__


def _operations(config: Config, target_vocabulary: int, length: int) -> Operations:
    """Count matrix products: two operations for each weight that a token meets, and for each pair it attends to."""
    model = config.model
    width, head, gates = (
        model.width,
        model.width // model.heads,
        2 if model.activation in ("gated-gelu", "swiglu") else 1,
    )
    projections = 2 * 4 * width * width
    feed_forward = 2 * (gates + 1) * width * model.feed_forward
    # `general` turns each query once more, `additive` each query and each key; a pair costs the same in all
    score = 2 * {"general": 1, "additive": 2}.get(model.score, 0) * width * head
    # a query meets every key, and every value is weighted; a masked query meets half of them
    attended = 2 * 2 * length * width
    encoder = model.encoder_layers * (projections + score + attended + feed_forward)
    decoder = model.decoder_layers * (2 * (projections + score) + attended // 2 + attended + feed_forward)
    return Operations(encoder, decoder, 2 * width * target_vocabulary)
