"""How the service says no: one exception with a status, a sentence, and never a word of what it was sent."""

from __future__ import annotations

import math
from collections.abc import Mapping

from regard.errors import InputError
from regard.serve.jobs import Busy, TookTooLong


class Refusal(Exception):  # noqa: N818 - a client's mistake, or no room: no error of ours
    """An answer other than success: its status, and the sentence that goes into `{"error": ...}`."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, dict(headers or {})

    @classmethod
    def bad(cls, sentence: str) -> Refusal:
        """A request that cannot be understood or done."""
        return cls(400, f"Invalid request: {sentence}")

    @classmethod
    def later(cls, sentence: str, seconds: float, status: int = 503) -> Refusal:
        """A request that may be sent again after some seconds."""
        return cls(status, sentence, {"Retry-After": str(max(1, math.ceil(seconds)))})


class ClientLeft(Exception):  # noqa: N818
    """Nobody waits for the answer any more."""


def refusal_of(error: Exception) -> Refusal | None:
    """What a client is told of an error; None where it is a fault of ours."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, Busy):
        return Refusal.later(f"Server busy: {error}", error.retry_after)
    if isinstance(error, TookTooLong):
        return Refusal(503, f"Took too long: {error}")  # no Retry-After: as it is, it would take too long again
    if isinstance(error, InputError):
        return Refusal.bad(str(error))
    return None
