"""What was found out about a run: of its text, its model, its steps and the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.planning.machine import Machine

MEMORY_SHARE = 0.9
"""The share of the free memory that a run may take: the rest is for what it needs now and then, and for others."""
NO_LIMIT = 1_000_000_000
"""A batch of more tokens than anybody asks for."""


@dataclass(frozen=True)
class Epoch:
    """One pass over the training text; estimated from a sample where there is much text."""

    pairs: int
    batches: int
    source_tokens: int
    target_tokens: int
    """With end marks, and with what BPE-dropout adds."""
    longest: int
    """Tokens on the longer side of the longest pair seen, its end mark included."""

    def scaled(self, factor: float) -> Epoch:
        """The same for a text `factor` times as large."""
        counts = (self.pairs, self.batches, self.source_tokens, self.target_tokens)
        pairs, batches, source, target = (math.ceil(count * factor) for count in counts)
        return Epoch(pairs, batches, source, target, self.longest)


@dataclass(frozen=True)
class Memory:
    """Memory as a line over the size of a batch: what a process holds in any case, and for each token of a batch."""

    fixed: float
    per_token: float
    shared: float = 0.0
    """The part of `fixed` that several processes have in common."""

    @classmethod
    def through(cls, small: tuple[int, float], large: tuple[int, float], shared: float) -> Memory:
        """The line through two measurements of (tokens in a batch, bytes)."""
        per_token = max(0.0, (large[1] - small[1]) / max(large[0] - small[0], 1))
        return cls(max(0.0, large[1] - per_token * large[0]), per_token, shared)

    def raised(self, batch_tokens: int, peak: float) -> Memory:
        """The same line, lifted where another measurement lies above it."""
        more = max(0.0, peak - self.fixed - self.per_token * batch_tokens)
        return Memory(self.fixed + more, self.per_token, self.shared)

    def needed(self, batch_tokens: int, processes: int) -> float:
        """Bytes for all processes of a run together; each has its part of a batch."""
        return self.shared + processes * (self.fixed - self.shared) + self.per_token * batch_tokens

    def largest_batch(self, available: float, processes: int) -> int:
        """Tokens of the largest batch that fits; 0 or less if none does."""
        room = available - self.needed(0, processes)
        return math.floor(room / self.per_token) if self.per_token else (NO_LIMIT if room >= 0 else 0)


@dataclass(frozen=True)
class Speed:
    """How quickly steps were made."""

    tokens_per_second: float
    """Real target tokens: the median of the steps."""
    steps: int
    batch_tokens: int
    accumulate: int
    processes: int


@dataclass(frozen=True)
class Costs:
    """What a run takes beside its steps, in seconds and bytes."""

    preparation_seconds: float
    validation_seconds: float | None
    checkpoint_seconds: float
    checkpoint_bytes: int
    prepared_bytes: int
    asking_seconds: float | None = None
    """Where teachers are asked once, before the first step."""
    said_bytes: int = 0
    """What is kept of that."""
    making_seconds: float | None = None
    """Where models make a side of the text, before that."""


@dataclass(frozen=True)
class Facts:
    """All that was found out. Where the memory does not suffice for any step, there is no speed and no costs."""

    machine: Machine
    device: str
    pairs: int
    sampled: int
    exact: bool
    """Whether the whole text was read, so that nothing about it is an estimate."""
    vocabulary: tuple[int, int]
    vocabulary_from: str
    parameters: dict[str, int]
    """By part of the model."""
    epoch: Epoch
    processes: int
    threads: int
    """Of each process."""
    memory: Memory
    killed_at: int | None
    """The size of a batch, if any, with which a trial ran out of memory."""
    speed: Speed | None
    costs: Costs | None
