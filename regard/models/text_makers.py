"""The models that make a side of the training text, by `target_by` and `source_by`."""

from __future__ import annotations

from collections.abc import Iterator

from regard.config import Config, CorpusConfig
from regard.errors import ConfigError, InputError, ModelFolderError
from regard.models.ensemble import load_ensemble


def check_makers(config: Config) -> None:
    """Refuse models that are not there, are of different vocabularies, or do not know the languages of their text."""
    for key, corpus in made_corpora(config):
        try:
            loaded = load_ensemble(corpus.made_by)
        except (InputError, ModelFolderError) as error:
            raise ConfigError(f"{key}: {error}") from None
        check_translates(config, corpus, loaded.config, f"the model of {key} ({corpus.made_by[0]})")


def check_translates(config: Config, corpus: CorpusConfig, maker: Config, name: str) -> None:
    """Refuse a model, called `name` in errors, that does not know the languages of a corpus that it makes a side of."""
    source, target = config.data.pair_of(corpus)
    asked = (target, source) if corpus.source_by else (source, target)
    if asked not in maker.data.pairs:
        raise ConfigError(f"{name} does not translate {asked[0]} to {asked[1]}, which is what it is named for")


def made_corpora(config: Config) -> Iterator[tuple[str, CorpusConfig]]:
    """The corpora that models make a side of, each with the key that names them: `data.train[1].target_by`."""
    for number, corpus in enumerate(config.data.train):
        if corpus.made_by:
            yield f"`data.train[{number}].{'target_by' if corpus.target_by else 'source_by'}`", corpus
