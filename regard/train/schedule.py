"""Learning rates as pure functions of the step: nothing to save, nothing to restore."""

from __future__ import annotations

import math
from collections.abc import Callable

from regard.config import TrainConfig


def learning_rate(step: int, config: TrainConfig, width: int) -> float:
    """The learning rate of optimiser step `step`, the first being 1, for a model of width D."""
    if step < 1:
        raise ValueError(f"steps count from 1, not from {step}")
    return config.learning_rate * SCHEDULES[config.schedule](step, config, width)


def peak_learning_rate(config: TrainConfig, width: int) -> float:
    """The highest learning rate of a run that lasts long enough to get there."""
    return learning_rate(_warmup(config), config, width)


DROPOUT_LEVELS = 16
"""Dropout rises by as many steps: each level needs random numbers of its own."""


def dropout_share(step: int, config: TrainConfig) -> float:
    """The part of all dropout that optimiser step `step` has: from 0 up to 1 within `train.dropout_warmup` steps."""
    if step >= config.dropout_warmup:
        return 1.0
    return step * DROPOUT_LEVELS // config.dropout_warmup / DROPOUT_LEVELS


def _paper(step: int, config: TrainConfig, width: int) -> float:
    """D^-0.5 * min(step^-0.5, step * warmup^-1.5), section 5.3 of "Attention Is All You Need"."""
    return float(width**-0.5 * min(step**-0.5, step * _warmup(config) ** -1.5))


def _inverse_square_root(step: int, config: TrainConfig, _: int) -> float:
    """Up to 1 at the end of the warm-up, then sqrt(warmup / step): the paper's curve, with a peak of one's choice."""
    return min(step / _warmup(config), math.sqrt(_warmup(config) / step))


def _cosine(step: int, config: TrainConfig, _: int) -> float:
    """Up to 1 at the end of the warm-up, then half a cosine wave that would meet 0 just after the last step."""
    return _rise(step, config) * 0.5 * (1 + math.cos(math.pi * _fallen(step, config)))


def _linear(step: int, config: TrainConfig, _: int) -> float:
    """Up to 1 at the end of the warm-up, then a straight line that would meet 0 just after the last step."""
    return _rise(step, config) * (1 - _fallen(step, config))


def _constant(step: int, config: TrainConfig, _: int) -> float:
    """Up to 1 at the end of the warm-up, and no change after it."""
    return _rise(step, config)


def _warmup_stable_decay(step: int, config: TrainConfig, _: int) -> float:
    """Up to 1 at the end of the warm-up, no change until the last steps, then a straight line as that of `linear`."""
    falling = config.decay_steps or config.max_steps // 5
    begin = max(config.max_steps - falling, _warmup(config))
    return _rise(step, config) * (1 - _fallen(step, config, begin))


SCHEDULES: dict[str, Callable[[int, TrainConfig, int], float]] = {
    "paper": _paper,
    "inverse-square-root": _inverse_square_root,
    "cosine": _cosine,
    "linear": _linear,
    "constant": _constant,
    "warmup-stable-decay": _warmup_stable_decay,
}
"""From the step, the configuration and the width D to a factor on `train.learning_rate`."""


def _warmup(config: TrainConfig) -> int:
    """The step of the peak: without a warm-up it is the first."""
    return max(config.warmup_steps, 1)


def _rise(step: int, config: TrainConfig) -> float:
    return min(1.0, step / _warmup(config))


def _fallen(step: int, config: TrainConfig, begin: int | None = None) -> float:
    """The part of the way down that is done: 0 up to `begin` (or the peak), 1 just after the last step."""
    begin = _warmup(config) if begin is None else begin
    if step <= begin:
        return 0.0
    return min(1.0, (step - begin) / max(config.max_steps + 1 - begin, 1))
