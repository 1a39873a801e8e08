"""Running means of what the steps since the last report were like."""

from __future__ import annotations

import math
import time


class Meter:
    """Means over the steps since the last `flush`, weighted by tokens."""

    def __init__(self) -> None:
        self.status = ""
        self._clear()

    def _clear(self) -> None:
        self.steps = 0
        self._tokens = 0
        self._loss = self._likelihood = self._norm = self._rate = 0.0
        self._since = time.monotonic()

    def add(self, loss: float, likelihood: float, tokens: int, norm: float, rate: float) -> None:
        """Count one step: mean losses of a token, how many tokens, the gradient's norm, the learning rate."""
        self.steps += 1
        self._tokens += tokens
        self._loss += loss * tokens
        self._likelihood += likelihood * tokens
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
        self._clear()
        return metrics

    def leave_out(self, seconds: float) -> None:
        """Do not count time that a validation or a save has taken."""
        self._since += seconds
