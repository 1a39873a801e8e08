"""Small models that meet the contract, whose every output can be enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from regard.models.contract import Memory, Record, SequenceToSequence, State
from regard.search.length_penalty import length_penalty

MODULUS = 2**31 - 1


def mix(key: Tensor, value: Tensor) -> Tensor:
    """A new key from a key and a value: a hash, in whole numbers, so that a batch cannot change it."""
    mixed = (key * 48271 + value * 69621 + 12345) % MODULUS
    return (mixed * 16807 + (mixed >> 7)) % MODULUS


class PrefixModel(SequenceToSequence):
    """Next-token logits are noise drawn by the seed, the real source tokens and the whole prefix."""

    def __init__(self, vocabulary: int = 7, seed: int = 1, scale: float = 3.0, end_bias: float = 0.0) -> None:
        super().__init__()
        self.vocabulary, self.seed, self.scale, self.end_bias = vocabulary, seed, scale, end_bias
        self.output = nn.Linear(vocabulary, vocabulary, bias=False)
        nn.init.eye_(self.output.weight)
        self.rows_seen: list[int] = []

    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        key = torch.full((len(source),), self.seed)
        for position in range(source.size(1)):
            key = torch.where(source_mask[:, position], mix(key, source[:, position]), key)
        return Memory(key.view(-1, 1, 1), source_mask)

    def start(self, memory: Memory) -> State:
        return State({"source": memory.states[:, 0, 0]}, {"prefix": torch.zeros(len(memory.states), dtype=torch.long)})

    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        self.rows_seen.append(len(tokens))
        source = state.fixed["source"]
        prefix = mix(state.moving["prefix"], tokens)
        copies = len(tokens) // len(source)
        return self._logits(mix(source.repeat_interleave(copies), prefix)), State(state.fixed, {"prefix": prefix})

    def decode(self, target: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        prefix, features = torch.zeros(len(target), dtype=torch.long), []
        for position in range(target.size(1)):
            prefix = mix(prefix, target[:, position])
            features.append(self._logits(mix(memory.states[:, 0, 0], prefix)))
        return torch.stack(features, dim=1)

    def _logits(self, key: Tensor) -> Tensor:
        noise = mix(mix(key[:, None], torch.arange(self.vocabulary)), torch.tensor(7)).double() / MODULUS
        logits = (noise * self.scale).float()
        logits[:, EOS_ID] += self.end_bias
        return logits


@dataclass(frozen=True)
class Output:
    tokens: list[int]
    log_probability: float
    score: float
    per_token: list[float]
    """The log-probability of each token, without the end mark."""


def all_outputs(model: SequenceToSequence, source: Tensor, config: SearchConfig, longest: int) -> list[Output]:
    """Every finished output of at most `longest` tokens (end mark included) of one source [S], best first."""
    mask = torch.ones(1, len(source), dtype=torch.bool)
    start = model.start(model.encode(source[None], mask))

    def grow(tokens: list[int], state: State, values: list[float]) -> Iterator[Output]:
        logits, after = model.step(torch.tensor([tokens[-1] if tokens else BOS_ID]), state)
        log_probabilities = logits[0].double().log_softmax(dim=-1)
        end = sum(values) + float(log_probabilities[EOS_ID])
        yield Output(tokens, end, end / length_penalty(len(tokens) + 1, config), values)
        if len(tokens) + 1 < longest:
            for token in range(len(log_probabilities)):
                if token not in (PAD_ID, BOS_ID, EOS_ID, UNK_ID):
                    yield from grow([*tokens, token], after, [*values, float(log_probabilities[token])])

    return sorted(grow([], start, []), key=lambda output: -output.score)


def random_sources(count: int, seed: int = 0, longest: int = 9) -> tuple[Tensor, Tensor]:
    """Sources [B, S] of differing lengths, each ending with its end mark, and their mask."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (count,), generator=generator)
    source = torch.full((count, int(lengths.max()) + 1), PAD_ID)
    for row, length in enumerate(lengths.tolist()):
        source[row, :length] = torch.randint(4, 50, (length,), generator=generator)
        source[row, length] = EOS_ID
    return source, source != PAD_ID


class TableModel(PrefixModel):
    """Next-token probabilities are written down for each prefix; whatever is not has the probability 0."""

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]], vocabulary: int) -> None:
        super().__init__(vocabulary)
        self.table = table

    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        prefix = state.moving["prefix"] * 100 + tokens * (tokens != BOS_ID)
        logits = torch.full((len(tokens), self.vocabulary), -1e9)
        for row, digits in enumerate(prefix.tolist()):
            key: tuple[int, ...] = ()
            while digits:
                key, digits = (digits % 100, *key), digits // 100
            for token, probability in self.table.get(key, {EOS_ID: 1.0}).items():
                logits[row, token] = math.log(probability)
        return logits, State(state.fixed, {"prefix": prefix})
