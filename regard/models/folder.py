"""The model folder: weights, configuration, tokenizer and a model card; nothing is ever unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from regard.atomic import write_file
from regard.config import Config
from regard.data.tokenizer import Tokenizers
from regard.errors import ConfigError, ModelFolderError
from regard.models import build_model
from regard.models.contract import SequenceToSequence
from regard.recipe import format_config, load_config

WEIGHTS, CONFIG, CARD = "model.safetensors", "config.toml", "README.md"


@dataclass(frozen=True)
class LoadedModel:
    """A model with what is needed to use it."""

    model: SequenceToSequence
    config: Config
    tokenizers: Tokenizers


def save_weights(folder: Path, weights: dict[str, Tensor]) -> None:
    """Replace the folder's weights, all or nothing."""
    write_file(folder / WEIGHTS, save({name: tensor.contiguous() for name, tensor in weights.items()}))


def save_model(folder: Path, model: SequenceToSequence, config: Config, tokenizers: Tokenizers, card: str) -> None:
    """Write a whole model folder; the weights come last, so a folder that has them is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / CONFIG, format_config(config).encode())
    write_file(folder / CARD, card.encode())
    tokenizers.save(folder)
    save_weights(folder, model_weights(model))


def model_weights(model: SequenceToSequence) -> dict[str, Tensor]:
    """The model's parameters by name; a shared one once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_weights(model: SequenceToSequence, weights: dict[str, Tensor], where: Path) -> None:
    """Put weights into a model; they must be just the ones it has, of the same shapes."""
    parameters = dict(model.named_parameters())
    missing = sorted(parameters.keys() - weights.keys())
    foreign = sorted(weights.keys() - parameters.keys())
    if missing or foreign:
        name, problem = (missing[0], "lacks") if missing else (foreign[0], "has an unknown")
        raise ModelFolderError(f"{where}: {problem} tensor `{name}`: it does not belong to the {CONFIG} beside it")
    with torch.no_grad():
        for name, parameter in parameters.items():
            given = weights[name]
            if given.shape != parameter.shape:
                shapes = f"{list(given.shape)}, not {list(parameter.shape)}"
                raise ModelFolderError(f"{where}: tensor `{name}` has shape {shapes}, as its {CONFIG} asks")
            if not given.is_floating_point():
                raise ModelFolderError(f"{where}: tensor `{name}` is of type {given.dtype}, not floating point")
            parameter.copy_(given)


def load_model(folder: str | Path) -> LoadedModel:
    """Read a model folder, ready for use: in evaluation mode, on the CPU."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such model folder; `regard train` or `regard demo` makes one")
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise ModelFolderError(f"{folder}: not a finished model folder: it has no {name}")
    try:
        config = load_config(folder / CONFIG)
    except ConfigError as error:
        raise ModelFolderError(f"{folder}: its {CONFIG} cannot be used: {error}") from None
    tokenizers = Tokenizers.load(folder)
    model = build_model(config.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    load_weights(model, _read_weights(folder / WEIGHTS), folder / WEIGHTS)
    return LoadedModel(model.eval(), config, tokenizers)


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load(path.read_bytes())
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFolderError(f"{path}: damaged, or not a safetensors file ({error})") from None
