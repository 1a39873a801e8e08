"""Beginning a run with the vocabulary and the weights of a model that is there already: fine-tuning."""

from __future__ import annotations

from pathlib import Path

from regard.config import Config
from regard.errors import ConfigError
from regard.models.contract import SequenceToSequence
from regard.models.folder import LoadedModel, load_model, load_weights, model_weights
from regard.progress import note

FREE = {
    "model": {
        *("preset", "start", "source_vectors", "target_vectors"),
        *("dropout", "attention_dropout", "activation_dropout", "word_dropout"),
    },
    "tokenizer": {"dropout"},
}
"""Keys that may differ from those of the model that a run begins with; all others of these sections say what it is."""


def read_start(config: Config) -> LoadedModel:
    """The model of `model.start`, which must be of the form that the configuration describes."""
    if config.model.source_vectors or config.model.target_vectors:
        raise ConfigError(
            "`model.start` brings embeddings of its own: leave out `model.source_vectors` and `model.target_vectors`"
        )
    loaded = load_model(config.model.start or "")
    for section, free in FREE.items():
        ours, theirs = (getattr(each, section).model_dump(exclude=free) for each in (config, loaded.config))
        for key, value in ours.items():
            if value != theirs[key]:
                raise ConfigError(
                    f"`{section}.{key}` is {value!r}, but the model of `model.start` ({config.model.start}) has "
                    f"{theirs[key]!r}, which cannot change: set it so, or leave out `model.start`"
                )
    if config.data.tags:
        known = {target for _, target in loaded.config.data.pairs} if loaded.config.data.tags else set()
        missing = sorted({target for _, target in config.data.pairs} - known)
        if missing:
            raise ConfigError(
                f"the model of `model.start` ({config.model.start}) has no tag for {missing[0]!r}, so it cannot be "
                "taught this language beside others"
            )
    return loaded


def place_start(model: SequenceToSequence, config: Config) -> None:
    """Give a new model the weights of `model.start`."""
    load_weights(model, model_weights(read_start(config).model), Path(config.model.start or ""))
    note(f"beginning with the weights of {config.model.start}")
