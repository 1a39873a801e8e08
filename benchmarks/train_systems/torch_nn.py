"""torch.nn.Transformer, of the same shape, with embeddings and a tied output, in the ordinary PyTorch loop."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from train_systems.measuring import read_facts, read_task, report
from train_systems.settings import DROPOUT, MAX_TOKENS, PAD, Shape
from train_systems.torch_loop import seed, train


class TorchTransformer(nn.Module):
    """What torch's documentation leaves to its reader: the embeddings, the positions and the output."""

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, shape.width)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("positions", sinusoids(2 * MAX_TOKENS, shape.width), persistent=False)
        self.transformer = nn.Transformer(
            shape.width,
            shape.heads,
            shape.encoder_layers,
            shape.decoder_layers,
            shape.feed_forward,
            dropout=DROPOUT,
            activation="relu",
            batch_first=True,
            norm_first=False,
        )
        without_inner_dropout(self.transformer)

    def embed(self, tokens: Tensor) -> Tensor:
        vectors = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = self.dropout(vectors + self.get_buffer("positions")[: tokens.size(1)])
        return embedded

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """From source [B, S] and target_input [B, T] to logits [B, T, V]."""
        padding = source == PAD
        length = target_input.size(1)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        features = self.transformer(
            self.embed(source),
            self.embed(target_input),
            tgt_mask=later,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(features, self.embedding.weight)


def without_inner_dropout(transformer: nn.Transformer) -> None:
    """Leave dropout on the sub-layers' outputs alone: none on attention weights, none inside the feed-forward part."""
    for module in transformer.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout.p = 0.0


def sinusoids(length: int, width: int) -> Tensor:
    """The positions of "Attention Is All You Need", [length, width]."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)


def main() -> None:
    task = read_task(__doc__)
    seed()
    model = TorchTransformer(task.shape, read_facts(task.work)["vocabulary"])
    report(train(task, model, model))


if __name__ == "__main__":
    main()
