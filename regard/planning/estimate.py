"""Arithmetic: from the facts of a run to its steps, time, memory and disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.config import Config
from regard.planning.facts import MEMORY_SHARE, Costs, Facts, Speed


@dataclass(frozen=True)
class Time:
    """Seconds that a run takes, by what it does."""

    step: float
    training: float
    validating: float
    saving: float
    preparing: float
    asking: float = 0.0
    making: float = 0.0
    teachers: float = 0.0
    """What is trained first."""

    @property
    def own(self) -> float:
        """Without what is trained first."""
        return self.training + self.validating + self.saving + self.preparing + self.asking + self.making

    @property
    def total(self) -> float:
        return self.own + self.teachers


@dataclass(frozen=True)
class Estimate:
    """What a run will come to; there is no time and no disk where no step could be made."""

    steps_per_epoch: int
    tokens_per_step: float
    """Real target tokens."""
    steps: int
    epochs: float
    validations: int
    checkpoints: int
    """As many are on the disk at one time, the one that is being written included."""
    memory: float
    time: Time | None
    disk: float | None


def estimate(config: Config, facts: Facts) -> Estimate:
    """What the run of a configuration will come to."""
    train, epoch = config.train, facts.epoch
    per_epoch = max(1, math.ceil(epoch.batches / train.accumulate))
    tokens = epoch.target_tokens / per_epoch
    steps = train.max_steps if train.max_epochs is None else min(train.max_steps, train.max_epochs * per_epoch)
    validations = math.ceil(steps / train.validate_every)
    kept = min(validations, sum(train.kept_checkpoints)) + 1
    time = disk = None
    if facts.speed is not None and facts.costs is not None:
        time = _time(config, facts.speed, facts.costs, tokens, steps, validations)
        weights = 4 * sum(facts.parameters.values())
        disk = kept * facts.costs.checkpoint_bytes + 2 * weights + facts.costs.prepared_bytes
        disk += facts.costs.said_bytes
    memory = facts.memory.needed(train.batch_tokens, facts.processes)
    return Estimate(per_epoch, tokens, steps, steps / per_epoch, validations, kept, memory, time, disk)


def with_teachers(expected: Estimate, teachers: Sequence[Estimate]) -> Estimate:
    """The same, with the time and the disk of what is trained first."""
    if expected.time is None or expected.disk is None:
        return expected
    seconds = sum(teacher.time.total for teacher in teachers if teacher.time is not None)
    disk = sum(teacher.disk for teacher in teachers if teacher.disk is not None)
    return replace(expected, time=replace(expected.time, teachers=seconds), disk=expected.disk + disk)


def _time(config: Config, speed: Speed, costs: Costs, tokens: float, steps: int, validations: int) -> Time:
    step = tokens / speed.tokens_per_second
    means = (config.train.average_last > 1) + (config.train.average_best > 1)
    at_the_end = 1 + means  # the weights that may be chosen are judged once more
    judging = (validations + at_the_end) * (costs.validation_seconds or 0.0)
    # where there are others of two passes, steps of one were not tried, and take about half the time; of a pass and a
    # teacher's, which has no gradients, about three quarters; teachers are taken to be of the model's size
    asked = 0 if config.train.asks_once else len(config.train.teachers)
    taught = asked or bool(config.train.self_distillation)
    share = 1 / 2 if config.train.consistency else taught / (taught + 3)
    saved = share * min(steps, config.train.steps_of_one_pass)
    added = (1 - share) * _passes_for_risk(config) * max(0, steps - config.train.risk_after)
    training = (steps - saved + added) * step
    saving = validations * costs.checkpoint_seconds
    return Time(
        step,
        training,
        judging,
        saving,
        costs.preparation_seconds,
        costs.asking_seconds or 0.0,
        costs.making_seconds or 0.0,
    )


def _passes_for_risk(config: Config) -> float:
    """By how many passes over its batch a step is longer for the risk, which was not tried.

    There is one for each candidate, and the search takes as long as about an eighth of them.
    """
    return config.train.risk_candidates * 9 / 8 if config.train.risk else 0.0


def fits_memory(facts: Facts, batch_tokens: int, processes: int) -> bool:
    """Whether batches of this size can be trained on by so many processes."""
    if facts.speed is not None and processes > facts.speed.processes:  # so many were not even tried
        return False
    if facts.killed_at is not None:  # then figures say too little, and only what was tried is sure
        return facts.speed is not None and batch_tokens <= facts.speed.batch_tokens
    if facts.machine.memory is None:
        return True
    return facts.memory.needed(batch_tokens, processes) <= MEMORY_SHARE * facts.machine.memory


def largest_batch(facts: Facts) -> int | None:
    """The largest batch that fits, to two digits; None if nobody knows."""
    if facts.machine.memory is None or not facts.memory.per_token:
        return None
    largest = facts.memory.largest_batch(MEMORY_SHARE * facts.machine.memory, facts.processes)
    if facts.killed_at is not None and facts.speed is not None:
        largest = min(largest, facts.speed.batch_tokens)
    if largest < 1:
        return 0
    unit = int(10 ** max(0, len(str(largest)) - 2))
    return largest // unit * unit
