from __future__ import annotations

import math
from itertools import pairwise
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_inverse_sqrt_schedule,
    get_linear_schedule_with_warmup,
)

from regard.config import TrainConfig
from regard.errors import ConfigError
from regard.recipe import parse_config
from regard.train.schedule import SCHEDULES, dropout_share, learning_rate

NAMES = sorted(SCHEDULES)


def config(schedule: str, warmup: int = 10, steps: int = 100, peak: float = 0.5) -> TrainConfig:
    return TrainConfig.model_validate(
        {"schedule": schedule, "warmup_steps": warmup, "max_steps": steps, "learning_rate": peak}
    )


def theirs(scheduler: torch.optim.lr_scheduler.LRScheduler, steps: int) -> list[float]:
    """What a torch scheduler gives after 0, 1, 2 … steps."""
    rates = []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        scheduler.optimizer.step()
        scheduler.step()
    return rates


def adam(peak: float) -> torch.optim.Optimizer:
    return torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=peak)


def test_every_schedule_of_the_configuration_has_its_function() -> None:
    assert set(SCHEDULES) == set(get_args(TrainConfig.model_fields["schedule"].annotation))


def test_paper_gives_the_values_of_its_formula() -> None:
    # 512^-0.5 * 4000^-0.5: the known peak of the base model, at the end of its warm-up.
    base = config("paper", warmup=4000, steps=100_000, peak=1.0)
    assert learning_rate(4000, base, 512) == pytest.approx(6.987712429686843e-4, rel=1e-12)
    assert learning_rate(1, base, 512) == pytest.approx(512**-0.5 * 4000**-1.5, rel=1e-12)
    assert learning_rate(16000, base, 512) == pytest.approx(6.987712429686843e-4 / 2, rel=1e-12)
    twice = config("paper", warmup=4000, steps=100_000, peak=2.0)
    assert learning_rate(77, twice, 512) == 2 * learning_rate(77, base, 512)


@pytest.mark.parametrize("name", ["inverse-square-root", "cosine", "linear", "constant", "warmup-stable-decay"])
def test_warm_up_is_a_line_to_the_peak(name: str) -> None:
    rates = [learning_rate(step, config(name), 128) for step in range(1, 11)]
    assert rates == pytest.approx([0.05 * step for step in range(1, 11)])


@pytest.mark.parametrize(
    ("name", "after", "expected"),
    [
        ("inverse-square-root", 40, 0.25),
        ("inverse-square-root", 1000, 0.05),
        ("constant", 40, 0.5),
        ("constant", 100_000, 0.5),
        ("linear", 19, 0.5 * 90 / 99),
        ("linear", 109, 0.0),
        ("cosine", 109, 0.0),
        ("cosine", 43, 0.5 * 0.75),
        ("warmup-stable-decay", 87, 0.5),  # a fifth of 108 steps is 21
        ("warmup-stable-decay", 98, 0.25),
        ("warmup-stable-decay", 109, 0.0),
    ],
)
def test_values_after_the_peak(name: str, after: int, expected: float) -> None:
    steps = 108  # so that 99 steps lead from the peak, at 10, to the first step that is no more
    assert learning_rate(after, config(name, steps=steps), 128) == pytest.approx(expected, abs=1e-12)


def test_cosine_equals_transformers() -> None:
    ours = [learning_rate(step, config("cosine"), 128) for step in range(1, 101)]
    scheduler = get_cosine_schedule_with_warmup(adam(0.5), 10, 101)
    assert ours == pytest.approx(theirs(scheduler, 101)[1:], abs=1e-12)


def test_cosine_without_warm_up_equals_torch() -> None:
    ours = [learning_rate(step, config("cosine", warmup=0), 128) for step in range(1, 101)]
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(adam(0.5), T_max=100)
    assert ours == pytest.approx(theirs(scheduler, 100), abs=1e-9)


def test_linear_equals_transformers() -> None:
    ours = [learning_rate(step, config("linear"), 128) for step in range(1, 101)]
    assert ours == pytest.approx(theirs(get_linear_schedule_with_warmup(adam(0.5), 10, 101), 101)[1:], abs=1e-12)


def test_constant_equals_transformers() -> None:
    ours = [learning_rate(step, config("constant"), 128) for step in range(1, 101)]
    assert ours == pytest.approx(theirs(get_constant_schedule_with_warmup(adam(0.5), 10), 101)[1:], abs=1e-12)


def test_inverse_square_root_equals_transformers() -> None:
    ours = [learning_rate(step, config("inverse-square-root"), 128) for step in range(1, 101)]
    scheduler = get_inverse_sqrt_schedule(adam(0.5), num_warmup_steps=10, timescale=10)
    assert ours == pytest.approx(theirs(scheduler, 101)[1:], abs=1e-12)


def test_paper_is_inverse_square_root_with_another_peak() -> None:
    for step in (1, 5, 10, 11, 99, 5000):
        paper = learning_rate(step, config("paper", peak=1.0), 256)
        ours = learning_rate(step, config("inverse-square-root", peak=(256 * 10) ** -0.5), 256)
        assert paper == pytest.approx(ours, rel=1e-12)


def test_stable_and_decay_with_steps_of_ones_choice() -> None:
    settings = config("warmup-stable-decay").model_copy(update={"decay_steps": 9})
    rates = [learning_rate(step, settings, 128) for step in range(90, 102)]
    assert rates == pytest.approx([0.5, 0.5, *(0.05 * part for part in range(9, -1, -1))])
    all_the_way = config("warmup-stable-decay").model_copy(update={"decay_steps": 90})
    for step in (1, 10, 50, 100):
        assert learning_rate(step, all_the_way, 128) == learning_rate(step, config("linear"), 128)


def test_steps_of_decay_need_their_schedule() -> None:
    with pytest.raises(ConfigError, match="warmup-stable-decay"):
        parse_config({"train": {"decay_steps": 10, "schedule": "cosine"}})


@pytest.mark.parametrize("name", NAMES)
@given(warmup=st.integers(0, 300), steps=st.integers(1, 300))
def test_rates_are_positive_and_rise_then_fall_in_small_strides(name: str, warmup: int, steps: int) -> None:
    settings = config(name, warmup, steps)
    rates = [learning_rate(step, settings, 64) for step in range(1, steps + 1)]
    peak = min(max(warmup, 1), steps)
    assert all(rate > 0 for rate in rates), "every step of the run must learn"
    assert max(rates) == rates[peak - 1]
    assert all(math.isclose(b, a) or b > a for a, b in pairwise(rates[:peak]))
    assert all(math.isclose(b, a) or b < a for a, b in pairwise(rates[peak - 1 :]))
    falling = min(steps - peak, steps // 5) if name == "warmup-stable-decay" else steps - peak
    longest_stride = rates[peak - 1] * (math.pi / 2) * max(1 / peak, 1 / (falling + 1))
    assert all(abs(b - a) <= longest_stride + 1e-12 for a, b in pairwise(rates))


@pytest.mark.parametrize("name", NAMES)
def test_no_warm_up_starts_at_the_peak(name: str) -> None:
    rates = [learning_rate(step, config(name, warmup=0), 64) for step in range(1, 50)]
    assert rates[0] == max(rates) == pytest.approx(0.5 * (64**-0.5 if name == "paper" else 1.0))


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_before_the_first_is_refused(step: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        learning_rate(step, config("linear"), 64)


def test_dropout_rises_in_levels_from_nothing_to_all_of_it() -> None:
    settings = TrainConfig(dropout_warmup=320)
    shares = [dropout_share(step, settings) for step in range(1, 401)]
    assert shares[0] == 0
    assert shares[159] == 0.5
    assert shares[318] == 15 / 16
    assert shares == sorted(shares)
    assert set(shares[319:]) == {1.0}
    assert len(set(shares)) == 17
    assert {dropout_share(step, TrainConfig()) for step in range(1, 10)} == {1.0}
