"""Starting a model's embeddings from word vectors that were learned elsewhere."""

from __future__ import annotations

import torch
from torch import nn

from regard.config import ModelConfig
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.data.vectors import read_vectors
from regard.models.contract import SequenceToSequence
from regard.progress import note


def place_pretrained_vectors(model: SequenceToSequence, config: ModelConfig, tokenizers: Tokenizers) -> None:
    """Give the words that a file of vectors knows their vectors; the other tokens keep their random ones.

    The vectors are brought to the size that embeddings start with, all by one factor, so that their angles and
    proportions stay.
    """
    for path, embedding, tokenizer in (
        (config.source_vectors, model.source_embedding, tokenizers.source),
        (config.target_vectors, model.target_embedding, tokenizers.target),
    ):
        if path is not None:
            count = _place(path, embedding.table, tokenizer)
            note(f"{path}: vectors for {count:,} of {tokenizer.vocabulary_size:,} tokens")


def _place(path: str, table: nn.Embedding, tokenizer: Tokenizer) -> int:
    vectors = read_vectors(path, tokenizer.words(), table.embedding_dim)
    size = vectors.values.square().mean().sqrt().clamp_min(1e-12)
    with torch.no_grad():
        table.weight[vectors.ids] = vectors.values / size * table.embedding_dim**-0.5
    return len(vectors.ids)
