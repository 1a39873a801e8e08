"""The models that make a side of the training text, by `target_by` and `source_by`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.config import Config
from regard.errors import ConfigError, InputError, ModelFolderError
from regard.models.ensemble import load_ensemble
from regard.models.folder import CONFIG, WEIGHTS


def files_of_makers(config: Config) -> list[Path]:
    """The files by which one can tell that a model that makes text is still the same."""
    return [Path(folder) / file for folder in config.data.makers for file in (WEIGHTS, CONFIG)]


def check_makers(config: Config) -> None:
    """Refuse models that are not there, are of different vocabularies, or do not know the languages of the text."""
    for folders in dict.fromkeys(corpus.made_by for corpus in config.data.train if corpus.made_by):
        key = key_of(config, folders[0])
        try:
            loaded = load_ensemble(folders)
        except (InputError, ModelFolderError) as error:
            raise ConfigError(f"{key}: {error}") from None
        check_translates(config, loaded.config, folders[0], f"the model of {key} ({folders[0]})")


def check_translates(config: Config, maker: Config, folder: str, name: str) -> None:
    """Refuse a model, called `name` in errors, that does not know a pair of languages which it is to translate."""
    known = maker.data.pairs
    for source, target in asked_of(config, folder):
        if (source, target) not in known:
            raise ConfigError(f"{name} does not translate {source} to {target}, which is what it is named for")


def asked_of(config: Config, folder: str) -> Iterator[tuple[str, str]]:
    """The pairs of languages that a model is to translate for the text."""
    for corpus in config.data.train:
        source, target = config.data.pair_of(corpus)
        if folder in corpus.target_by:
            yield source, target
        if folder in corpus.source_by:
            yield target, source


def key_of(config: Config, folder: str) -> str:
    """Where a configuration names a model that makes text: `data.train[1].target_by`."""
    for number, corpus in enumerate(config.data.train):
        if folder in corpus.made_by:
            return f"`data.train[{number}].{'target_by' if corpus.target_by else 'source_by'}`"
    raise LookupError(folder)
