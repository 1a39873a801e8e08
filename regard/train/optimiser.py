"""The optimiser: Adam in one fused pass, and its state by parameter name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.errors import RegardError


def _adam(parameters: Iterable[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def _adamw(parameters: Iterable[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    betas, decay = (config.beta1, config.beta2), config.weight_decay
    return torch.optim.AdamW(parameters, betas=betas, eps=config.epsilon, weight_decay=decay, fused=True)


OPTIMISERS: dict[str, Callable[[Iterable[nn.Parameter], TrainConfig], torch.optim.Optimizer]] = {
    "adam": _adam,
    "adamw": _adamw,
}


def build_optimiser(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser that a configuration names, over all parameters of a model."""
    return OPTIMISERS[config.optimiser](model.parameters(), config)


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate


def optimiser_state(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's tensors, each named `parameter/key`."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Tensor]) -> None:
    """Put saved tensors back, beside the parameters they belong to."""
    parameters = dict(model.named_parameters())
    for full_name, value in state.items():
        name, _, key = full_name.rpartition("/")
        if name not in parameters:
            raise RegardError(f"the checkpoint's optimiser knows a parameter `{name}` that this model lacks")
        place = torch.device("cpu") if key == "step" else parameters[name].device
        optimiser.state[parameters[name]][key] = value.to(place)
