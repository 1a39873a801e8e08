"""The ordinary PyTorch training loop, for the systems that are models only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional as F

from train_systems.measuring import Measurement, Task, Window, own_peak_memory_mb
from train_systems.settings import BETAS, EPSILON, LABEL_SMOOTHING, LEARNING_RATE, PAD, SEED, rate_factor

Logits = Callable[[Tensor, Tensor], Tensor]
"""From source [B, S] and target_input [B, T] to logits [B, T, V]."""


def train(task: Task, model: nn.Module, logits: Logits) -> Measurement:
    """Train with Adam and label-smoothed cross-entropy, one batch a step, until the window is over."""
    if task.threads:
        torch.set_num_threads(task.threads)
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda done: rate_factor(done + 1))
    window = Window(task.seconds)
    tokens = 0
    model.train()
    for step, (source, target_input, target_output) in enumerate(_batches(task.work / "batches.safetensors"), start=1):
        optimiser.zero_grad()
        loss = F.cross_entropy(
            logits(source, target_input).flatten(0, 1),
            target_output.flatten(),
            ignore_index=PAD,
            label_smoothing=LABEL_SMOOTHING,
        )
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        tokens += int((target_output != PAD).sum())
        if not torch.isfinite(loss):
            raise RuntimeError(f"the loss of step {step} is {loss.item()}")
        if window.add(step, tokens, time.perf_counter()):
            break
    return window.measurement(own_peak_memory_mb(), _trained(model))


def _trained(model: nn.Module) -> int:
    """How many numbers are learned; a table of sinusoids is none of them, though Marian keeps one as a parameter."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def seed() -> None:
    torch.manual_seed(SEED)


def _batches(path: Path) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Source, target_input and target_output of every batch, again and again, each read when it is needed."""
    with safe_open(path, framework="pt") as file:
        count = len(file.keys()) // 3
        for number in cycle(range(count)):
            source, given, wanted = (
                file.get_tensor(f"{number}.{name}") for name in ("source", "target_input", "target_output")
            )
            yield source, given, wanted
