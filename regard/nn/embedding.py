"""From token ids to vectors: scaled embeddings with positions and dropout."""

from __future__ import annotations

import math

from torch import Tensor, nn

from regard.nn.positions import FixedPositions, LearnedPositions, NoPositions
from regard.nn.randomness import Dropout

Positions = NoPositions | FixedPositions | LearnedPositions


class TokenEmbedding(nn.Module):
    """dropout(√D · embedding[token] + position); the table may be shared with others.

    `word_dropout` leaves out the whole embedding of a token; its position stays.
    """

    def __init__(
        self,
        table: nn.Embedding,
        scaled: bool,
        positions: Positions,
        dropout: Dropout,
        word_dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.word_dropout = word_dropout
        self.table = table
        self.scale = math.sqrt(table.embedding_dim) if scaled else 1.0
        self.positions = positions
        self.dropout = dropout

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Vectors [B, T, D] of tokens [B, T], the first of which stands at position `start`."""
        vectors = self.table(tokens) * self.scale
        if self.word_dropout is not None and self.word_dropout.active:
            vectors = vectors * self.word_dropout.mask(vectors[..., :1])
        embedded: Tensor = self.dropout(self.positions(vectors, start))
        return embedded
