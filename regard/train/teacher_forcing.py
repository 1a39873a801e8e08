"""A teacher-forced pass over a batch: where its real tokens are, and what the output layer is given there."""

from __future__ import annotations

from torch import Tensor

from regard.data.batch import Batch
from regard.data.vocabulary import PAD_ID
from regard.models.contract import SequenceToSequence


def real_tokens(batch: Batch) -> Tensor:
    """Where in a batch's target tokens, row after row, those are that are no padding: [N]."""
    return (batch.target_output != PAD_ID).flatten().nonzero().squeeze(1)


def features_at(model: SequenceToSequence, batch: Batch, places: Tensor) -> Tensor:
    """What the output layer is given, [N, D], at some places of a batch."""
    features = model.features(batch.source, batch.source_mask, batch.target_input)
    return features.flatten(0, 1).index_select(0, places)
