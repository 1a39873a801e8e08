"""How good the weights are on validation data, while a run goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batches import FixedBatches
from regard.models.contract import SequenceToSequence
from regard.train.objective import batch_loss

Bleu = Callable[[SequenceToSequence], float]
"""Translates validation sentences with a model and scores them; handed in, for training knows nothing of search."""


@dataclass(frozen=True)
class Validation:
    """How good a model is on validation data."""

    loss: float
    """Mean negative log-likelihood of a token, without smoothing."""
    bleu: float | None

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def score(self, choose_by: str) -> float:
        """What is compared: lower is better."""
        return -self.bleu if choose_by == "bleu" and self.bleu is not None else self.loss

    def metrics(self) -> dict[str, float]:
        """For the log."""
        metrics = {"loss": self.loss, "perplexity": self.perplexity}
        return metrics if self.bleu is None else {**metrics, "bleu": self.bleu}

    def line(self) -> str:
        """In words: `loss 2.312, perplexity 10.1, BLEU 31.20`."""
        bleu = "" if self.bleu is None else f", BLEU {self.bleu:.2f}"
        return f"loss {self.loss:.4f}, perplexity {self.perplexity:.2f}{bleu}"


class Validator:
    """Judges weights, on the same sentences every time."""

    def __init__(self, batches: FixedBatches, bleu: Bleu | None = None) -> None:
        self.batches = batches
        self.bleu = bleu

    @torch.no_grad()
    def judge(
        self,
        model: SequenceToSequence,
        weights: Mapping[str, Tensor],
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Validation:
        """Loss and BLEU of the model with these weights; its own are put back after.

        The work is done inside `guard()`, which may let a signal break it off; putting the weights back is not.
        """
        with _weights_in(model, weights), guard():
            model.eval()
            likelihood, tokens = 0.0, 0
            for batch in self.batches:
                loss = batch_loss(model, batch.to(model.device), smoothing=0.0)
                likelihood += loss.negative_log_likelihood.item()
                tokens += loss.tokens
            bleu = self.bleu(model) if self.bleu is not None else None
        return Validation(likelihood / tokens, bleu)


@contextmanager
def _weights_in(model: SequenceToSequence, weights: Mapping[str, Tensor]) -> Iterator[None]:
    parameters = dict(model.named_parameters())
    own = {name: parameter.data for name, parameter in parameters.items()}
    try:
        for name, parameter in parameters.items():
            parameter.data = weights[name].to(parameter)
        yield
    finally:
        for name, parameter in parameters.items():
            parameter.data = own[name]
