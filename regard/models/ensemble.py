"""Several models as one: the mean of what they say comes next, for models with one vocabulary."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.models.contract import Memory, Record, SequenceToSequence, State
from regard.models.folder import LoadedModel, load_model

Average = Literal["probabilities", "log-probabilities"]


def average_logits(logits: Sequence[Tensor], average: Average) -> Tensor:
    """One [..., V] from those of each member: the logarithm of the mean probability, or the mean log-probability."""
    log_probabilities = torch.stack([each.float().log_softmax(dim=-1) for each in logits])
    if average == "probabilities":
        return log_probabilities.logsumexp(dim=0) - math.log(len(logits))
    return log_probabilities.mean(dim=0)  # it need not sum to 1; the softmax of a search sees to that


class _AveragedOutput(nn.Linear):
    """The last layers of all members over their features side by side, [..., D1 + D2 + …] to [..., V]."""

    def __init__(self, outputs: Sequence[nn.Linear], average: Average) -> None:
        nn.Module.__init__(self)
        self.outputs, self.average = nn.ModuleList(outputs), average
        self._widths = [output.in_features for output in outputs]
        self.in_features, self.out_features = sum(self._widths), outputs[0].out_features
        self.weight = outputs[0].weight  # where others look for the device

    def forward(self, input: Tensor) -> Tensor:
        parts = torch.split(input, self._widths, dim=-1)
        return average_logits([output(part) for output, part in zip(self.outputs, parts, strict=True)], self.average)


@dataclass
class EnsembleMemory(Memory):
    """What every member made of the source; `states` are the first one's."""

    parts: list[Memory]

    def select(self, rows: Tensor) -> EnsembleMemory:
        parts = [part.select(rows) for part in self.parts]
        return EnsembleMemory(parts[0].states, parts[0].mask, parts)


class Ensemble(SequenceToSequence):
    """Models that read the same and say the same tokens; it keeps the contract that each of them keeps."""

    def __init__(self, members: Sequence[SequenceToSequence], average: Average = "probabilities") -> None:
        super().__init__()
        if average not in ("probabilities", "log-probabilities"):
            raise InputError(f"an ensemble averages `probabilities` or `log-probabilities`, not `{average}`")
        self.members, self.average = nn.ModuleList(members), average
        self.output = _AveragedOutput([member.output for member in members], average)

    def each(self) -> list[SequenceToSequence]:
        """The members, in order."""
        return [member for member in self.members if isinstance(member, SequenceToSequence)]

    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        record = _counting(record)
        parts = [member.encode(source, source_mask, record) for member in self.each()]
        return EnsembleMemory(parts[0].states, source_mask, parts)

    def decode(self, target: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        """Features [B, T, D1 + D2 + …], those of all members side by side."""
        record = _counting(record)
        each = zip(self.each(), parts_of(memory), strict=True)
        return torch.cat([member.decode(target, own, record) for member, own in each], dim=-1)

    def start(self, memory: Memory) -> State:
        return _joined([member.start(own) for member, own in zip(self.each(), parts_of(memory), strict=True)])

    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        record = _counting(record)
        logits, states = [], []
        for number, member in enumerate(self.each()):
            own_logits, own_state = member.step(tokens, _part(state, number), record)
            logits.append(own_logits)
            states.append(own_state)
        return average_logits(logits, self.average), _joined(states)


def parts_of(memory: Memory) -> list[Memory]:
    """The memory of each member."""
    if not isinstance(memory, EnsembleMemory):
        raise TypeError("an ensemble goes on from what it has encoded itself")
    return memory.parts


def _joined(states: Sequence[State]) -> State:
    """One state of several, each tensor's name behind the number of its member."""
    joined = State({}, {})
    for number, state in enumerate(states):
        joined.fixed |= {f"{number}:{name}": tensor for name, tensor in state.fixed.items()}
        joined.moving |= {f"{number}:{name}": tensor for name, tensor in state.moving.items()}
    return joined


def _part(state: State, number: int) -> State:
    prefix = f"{number}:"
    fixed, moving = (
        {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        for tensors in (state.fixed, state.moving)
    )
    return State(fixed, moving)


def _counting(record: Record | None) -> Record | None:
    """The same, with the layers of all members counted on: `cross.0` of the second may become `cross.4`."""
    if record is None:
        return None
    counts: Counter[str] = Counter()

    def count_on(name: str, weights: Tensor) -> None:
        part = name.split(".")[0]
        record(f"{part}.{counts[part]}", weights)
        counts[part] += 1

    return count_on


def load_ensemble(folders: Sequence[str | Path], average: Average = "probabilities") -> LoadedModel:
    """Read model folders as one model; one alone is itself. Settings other than weights are those of the first."""
    first, *others = [load_model(folder) for folder in folders]
    if not others:
        return first
    for folder, other in zip(folders[1:], others, strict=True):
        _refuse_others(folders[0], first, folder, other)
    longest = [each.config.model for each in (first, *others) if each.config.model.positions == "learned"]
    config = first.config
    if longest:
        least = min(model.max_positions for model in longest)
        sizes = config.model.model_copy(update={"positions": "learned", "max_positions": least})
        config = config.model_copy(update={"model": sizes})
    ensemble = Ensemble([each.model for each in (first, *others)], average).eval()
    return dataclasses.replace(first, model=ensemble, config=config)


def _refuse_others(first_folder: str | Path, first: LoadedModel, folder: str | Path, other: LoadedModel) -> None:
    """Refuse a model of another language or vocabulary."""
    ours, theirs = (
        " and ".join(sorted(" to ".join(pair) for pair in each.config.data.pairs)) for each in (first, other)
    )
    if ours != theirs:
        raise InputError(
            f"{folder}: translates {theirs}, but {first_folder} {ours}; an ensemble needs models of the same languages"
        )
    for side in ("source", "target"):
        if getattr(first.tokenizers, side).to_json() != getattr(other.tokenizers, side).to_json():
            raise InputError(
                f"{folder}: its {side} vocabulary is not that of {first_folder}; an ensemble needs models of one "
                "vocabulary: train them on the same text and [tokenizer], with different seeds"
            )
