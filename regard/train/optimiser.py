"""The optimiser: Adam in one fused pass, or Muon for the matrices inside; and its state by parameter name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.errors import RegardError
from regard.models.contract import SequenceToSequence
from regard.nn.linear import Linear
from regard.train.muon import Muon, Together
from regard.train.schedule import peak_learning_rate

RATE = "rate"
"""Where a group of parameters keeps the factor on the learning rate that makes it its own."""

PRODUCTS_FOR_A_PASS = 12
"""Columns of a matrix for which making it orthogonal takes as long as a pass over it with Adam, roughly measured."""


def _adam(model: SequenceToSequence, config: TrainConfig) -> torch.optim.Optimizer:
    betas = (config.beta1, config.beta2)
    return torch.optim.Adam(model.parameters(), betas=betas, eps=config.epsilon, fused=True)


def _adamw(model: SequenceToSequence, config: TrainConfig) -> torch.optim.Optimizer:
    return _adamw_of(model.parameters(), config)


def _adamw_of(parameters: Iterable[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    betas, decay = (config.beta1, config.beta2), config.weight_decay
    return torch.optim.AdamW(parameters, betas=betas, eps=config.epsilon, weight_decay=decay, fused=True)


def _muon(model: SequenceToSequence, config: TrainConfig) -> torch.optim.Optimizer:
    """Muon for the hidden matrices, AdamW for all else: embeddings, the output layer, norms and biases."""
    matrices = hidden_matrices(model)
    others = [parameter for parameter in model.parameters() if parameter not in matrices]
    rate = config.muon_learning_rate / peak_learning_rate(config, model.output.in_features)
    muon = Muon(matrices, config.muon_momentum, config.weight_decay, **{RATE: rate})
    return Together([muon, _adamw_of(others, config)])


OPTIMISERS: dict[str, Callable[[SequenceToSequence, TrainConfig], torch.optim.Optimizer]] = {
    "adam": _adam,
    "adamw": _adamw,
    "muon": _muon,
}


def build_optimiser(model: SequenceToSequence, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser that a configuration names, over all parameters of a model."""
    return OPTIMISERS[config.optimiser](model, config)


def hidden_matrices(model: SequenceToSequence) -> dict[Tensor, int]:
    """The weights of the linear layers between embedding and output, and how many matrices are packed in each."""
    layers = (module for module in model.modules() if isinstance(module, Linear) and module is not model.output)
    return {layer.weight: layer.parts for layer in layers}


def step_costs(model: SequenceToSequence, config: TrainConfig) -> dict[Tensor, float]:
    """What a step costs by parameter: as much as it has elements, and more where it is made orthogonal."""
    costs: dict[Tensor, float] = {parameter: parameter.numel() for parameter in model.parameters()}
    if config.optimiser == "muon":
        for weight, parts in hidden_matrices(model).items():
            costs[weight] *= 1 + min(weight.size(0) // parts, weight.size(1)) / PRODUCTS_FOR_A_PASS
    return costs


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give all groups this rate, times what is a group's own."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get(RATE, 1.0)


def optimiser_state(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's tensors, each named `parameter/key`."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Tensor]) -> None:
    """Put saved tensors back, on the devices of the parameters they belong to: a fused step counts there, too."""
    parameters = dict(model.named_parameters())
    with_momentum = {
        parameter for group in optimiser.param_groups if "momentum" in group for parameter in group["params"]
    }
    for full_name, value in state.items():
        name, _, key = full_name.rpartition("/")
        if name not in parameters:
            raise RegardError(f"the checkpoint's optimiser knows a parameter `{name}` that this model lacks")
        if (key == "momentum_buffer") != (parameters[name] in with_momentum):
            raise RegardError(
                f"the checkpoint holds another optimiser's `{full_name}`: go on with the `train.optimiser` that the "
                "run began with, or choose another folder with --run"
            )
        optimiser.state[parameters[name]][key] = value.to(parameters[name].device, copy=True)
