"""Running means of what the steps since the last report were like."""

from __future__ import annotations

import math
import time
from typing import NamedTuple


class StepLosses(NamedTuple):
    """What a step was like, over the batches of all processes: means of a token."""

    tokens: int
    loss: float
    """The smoothed cross-entropy."""
    likelihood: float
    divergence: float | None = None
    """How far two passes disagreed, or a model and its teacher, where there were two."""

    @property
    def finite(self) -> bool:
        return math.isfinite(self.loss) and math.isfinite(self.divergence or 0.0)


class Meter:
    """Means over the steps since the last `flush`, weighted by tokens."""

    def __init__(self, divergence: str = "consistency") -> None:
        self.status = ""
        self._divergence_name = divergence
        self._clear()

    def _clear(self) -> None:
        self.steps = 0
        self._tokens = self._tokens_compared = 0
        self._loss = self._likelihood = self._divergence = self._norm = self._rate = 0.0
        self._since = time.monotonic()

    def add(self, losses: StepLosses, norm: float, rate: float) -> None:
        """Count one step: its losses, the gradient's norm, the learning rate."""
        self.steps += 1
        self._tokens += losses.tokens
        self._loss += losses.loss * losses.tokens
        self._likelihood += losses.likelihood * losses.tokens
        if losses.divergence is not None:
            self._divergence += losses.divergence * losses.tokens
            self._tokens_compared += losses.tokens
        self._norm += norm
        self._rate = rate
        elapsed = max(time.monotonic() - self._since, 1e-9)
        self.status = f"loss {self._loss / self._tokens:.3f}  {self._tokens / elapsed:,.0f} tokens/s"

    def flush(self) -> dict[str, float]:
        """The means, and a fresh start."""
        elapsed = max(time.monotonic() - self._since, 1e-9)
        likelihood = self._likelihood / self._tokens
        metrics = {
            "loss": self._loss / self._tokens,
            "perplexity": math.exp(min(likelihood, 700.0)),
            "learning_rate": self._rate,
            "gradient_norm": self._norm / self.steps,
            "tokens_per_second": self._tokens / elapsed,
        }
        if self._tokens_compared:
            metrics[self._divergence_name] = self._divergence / self._tokens_compared
        self._clear()
        return metrics

    def leave_out(self, seconds: float) -> None:
        """Do not count time that a validation or a save has taken."""
        self._since += seconds
