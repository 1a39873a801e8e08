"""The models that teach another what they say of every token, by `train.teachers`."""

from __future__ import annotations

from pathlib import Path

from regard.config import Config
from regard.data.tokenizer import Tokenizers
from regard.errors import ConfigError, InputError
from regard.models.ensemble import load_ensemble
from regard.models.folder import WEIGHTS, LoadedModel

FREE = {"dropout", "dropout_side"}
"""Keys of `tokenizer` that may differ from the teachers': all others say what the tokens are."""


def weights_of_teachers(config: Config) -> list[Path]:
    """The files by which one can tell that a teacher is still the same."""
    return [Path(folder) / WEIGHTS for folder in config.train.teachers]


def read_teachers(config: Config) -> LoadedModel:
    """The models of `train.teachers`, several as one; they must know the languages and the tokens of a student."""
    try:
        loaded = load_ensemble(config.train.teachers)
    except InputError as error:
        raise ConfigError(f"`train.teachers`: {error}") from None
    first = f"the model of `train.teachers` ({config.train.teachers[0]})"
    ours, theirs = (each.tokenizer.model_dump(exclude=FREE) for each in (config, loaded.config))
    for key, value in ours.items():
        if value != theirs[key]:
            raise ConfigError(
                f"`tokenizer.{key}` is {value!r}, but {first} has {theirs[key]!r}; a student has its teachers' tokens: "
                "set it so"
            )
    missing = sorted(set(config.data.pairs) - set(loaded.config.data.pairs))
    if missing:
        raise ConfigError(f"{first} does not translate {' to '.join(missing[0])}, which its student is to learn")
    if config.data.tags != loaded.config.data.tags:
        tags = str(config.data.tags).lower()
        raise ConfigError(f"`data.tags` is {tags}, but not for {first}: a student is asked as its teachers are")
    longest = loaded.config.model.max_positions - 1  # a sentence has a mark
    if loaded.config.model.positions == "learned" and config.data.max_tokens > longest:
        raise ConfigError(
            f"`data.max_tokens` is {config.data.max_tokens}, but {first} learned positions for {longest} tokens and a "
            f"mark: set `data.max_tokens` to {longest} or less"
        )
    return loaded


def check_tokens(config: Config, run: Path, tokenizers: Tokenizers) -> None:
    """Refuse teachers whose tokens are not those of a run that has its own already."""
    if not config.train.teachers:
        return
    taught = read_teachers(config).tokenizers
    for side in ("source", "target"):
        if getattr(taught, side).to_json() != getattr(tokenizers, side).to_json():
            raise ConfigError(
                f"the {side} vocabulary of the run in {run} is not that of `train.teachers` "
                f"({config.train.teachers[0]}): a student has its teachers' tokens"
            )
