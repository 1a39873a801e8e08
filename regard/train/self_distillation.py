"""Self-distillation: a model learns from the moving average of its own weights, besides from the text.

The average is a calmer and mostly better model than the one that learns ("mean teacher": Tarvainen and Valpola 2017,
https://arxiv.org/abs/1703.01780; for translation, from checkpoints: Wei et al. 2019, https://aclanthology.org/N19-1192/).
What is minimised is in `teaching.py`.
"""

from __future__ import annotations

import copy

from torch import nn

from regard.models.contract import SequenceToSequence
from regard.train.averaging import MovingAverage


def averaged_model(model: SequenceToSequence, average: MovingAverage) -> SequenceToSequence:
    """A model whose weights are the very tensors of a moving average: as that changes, it changes."""
    weights = average.weights()
    instead = {
        id(parameter): nn.Parameter(weights[name], requires_grad=False) for name, parameter in model.named_parameters()
    }
    return copy.deepcopy(model, instead).eval()
