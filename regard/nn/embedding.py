"""From token ids to vectors: scaled embeddings with positions and dropout."""

from __future__ import annotations

import math

from torch import Tensor, nn

from regard.nn.positions import FixedPositions, LearnedPositions, NoPositions
from regard.nn.randomness import Dropout

Positions = NoPositions | FixedPositions | LearnedPositions


class TokenEmbedding(nn.Module):
    """dropout(√D · embedding[token] + position); the table may be shared with others."""

    def __init__(self, table: nn.Embedding, scaled: bool, positions: Positions, dropout: Dropout) -> None:
        super().__init__()
        self.table = table
        self.scale = math.sqrt(table.embedding_dim) if scaled else 1.0
        self.positions = positions
        self.dropout = dropout

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Vectors [B, T, D] of tokens [B, T], the first of which stands at position `start`."""
        embedded: Tensor = self.dropout(self.positions(self.table(tokens) * self.scale, start))
        return embedded
