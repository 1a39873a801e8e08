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
    risk: float | None = None
    """The expected cost of likely translations, where it counted."""

    @property
    def finite(self) -> bool:
        return all(math.isfinite(value or 0.0) for value in (self.loss, self.divergence, self.risk))


class Meter:
    """Means over the steps since the last `flush`, weighted by tokens."""

    def __init__(self, divergence: str = "consistency") -> None:
        self.status = ""
        self._divergence_name = divergence
        self._clear()

    def _clear(self) -> None:
        self.steps = 0
        self._tokens = 0
        self._loss = self._likelihood = self._norm = self._rate = 0.0
        self._others: dict[str, tuple[float, int]] = {}
        self._since = time.monotonic()

    def add(self, losses: StepLosses, norm: float, rate: float) -> None:
        """Count one step: its losses, the gradient's norm, the learning rate."""
        self.steps += 1
        self._tokens += losses.tokens
        self._loss += losses.loss * losses.tokens
        self._likelihood += losses.likelihood * losses.tokens
        for name, value in ((self._divergence_name, losses.divergence), ("risk", losses.risk)):
            if value is not None:
                total, tokens = self._others.get(name, (0.0, 0))
                self._others[name] = (total + value * losses.tokens, tokens + losses.tokens)
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
        metrics |= {name: total / tokens for name, (total, tokens) in self._others.items()}
        self._clear()
        return metrics

    def leave_out(self, seconds: float) -> None:
        """Do not count time that a validation or a save has taken."""
        self._since += seconds
