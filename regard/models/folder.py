"""The model folder: weights, configuration, tokenizer and a model card; nothing is ever unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from regard import untrusted
from regard.atomic import write_file
from regard.config import Config
from regard.data.tokenizer import SHARED_FILE, SOURCE_FILE, TARGET_FILE, Tokenizers
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
    check_fit(
        model, {name: (tuple(tensor.shape), tensor.is_floating_point()) for name, tensor in weights.items()}, where
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def check_fit(model: SequenceToSequence, given: Mapping[str, tuple[tuple[int, ...], bool]], where: Path) -> None:
    """Refuse weights, of these shapes and floating point or not, that are not just the ones a model has."""
    parameters = dict(model.named_parameters())
    missing = sorted(parameters.keys() - given.keys())
    foreign = sorted(given.keys() - parameters.keys())
    if missing or foreign:
        name, problem = (missing[0], "lacks") if missing else (foreign[0], "has an unknown")
        raise ModelFolderError(f"{where}: {problem} tensor `{name}`: it does not belong to the {CONFIG} beside it")
    for name, parameter in parameters.items():
        shape, is_floating_point = given[name]
        if shape != tuple(parameter.shape):
            shapes = f"{list(shape)}, not {list(parameter.shape)}"
            raise ModelFolderError(f"{where}: tensor `{name}` has shape {shapes}, as its {CONFIG} asks")
        if not is_floating_point:
            raise ModelFolderError(f"{where}: tensor `{name}` is of whole numbers, not floating point")


def load_model(folder: str | Path) -> LoadedModel:
    """Read a model folder, ready for use: in evaluation mode, on the CPU. Nothing in it is trusted (`untrusted`)."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such model folder; `regard train` or `regard demo` makes one")
    if not (folder / CONFIG).exists():
        raise ModelFolderError(f"{folder}: not a finished model folder: it has no {CONFIG}")
    if not (folder / WEIGHTS).exists():
        untrusted.refuse_pickles_only(folder, WEIGHTS)
    untrusted.plain_file(folder, CONFIG, untrusted.MIB)
    for name in (SHARED_FILE, SOURCE_FILE, TARGET_FILE):
        if (folder / name).exists() or (folder / name).is_symlink():
            untrusted.plain_file(folder, name, untrusted.LARGEST_JSON)
    try:
        config = load_config(folder / CONFIG)
    except ConfigError as error:
        raise ModelFolderError(f"{folder}: its {CONFIG} cannot be used: {error}") from None
    header = untrusted.read_header(folder / WEIGHTS)
    tokenizers = Tokenizers.load(folder)
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    _refuse_layers(config, header, folder / WEIGHTS)
    with torch.device("meta"):  # sizes that the weights do not have must not take memory
        skeleton = build_model(config.model, *sizes)
    check_fit(skeleton, {name: (info.shape, info.is_floating_point) for name, info in header.items()}, folder / WEIGHTS)
    model = build_model(config.model, *sizes)
    load_weights(model, untrusted.read_tensors(folder / WEIGHTS), folder / WEIGHTS)
    if config.data.tags:
        missing = next((target for _, target in config.data.pairs if target not in tokenizers.source.tags), None)
        if missing is not None:
            raise ModelFolderError(
                f"{folder}: its vocabulary has no tag for {missing}, to which its {CONFIG} translates"
            )
        tokenizers = tokenizers.tagged(config.data.target_language)
    return LoadedModel(model.eval(), config, tokenizers)


def _refuse_layers(config: Config, header: Mapping[str, object], where: Path) -> None:
    """Refuse more layers than the weights can have, before a thousand of them are made."""
    layers = config.model.encoder_layers + config.model.decoder_layers
    if layers > len(header):
        raise ModelFolderError(f"{where}: has {len(header)} tensors, too few for the {layers} layers of its {CONFIG}")
