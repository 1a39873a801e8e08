"""The models that teach another what they say of every token, by `train.teachers`."""

from __future__ import annotations

from pathlib import Path

from regard.config import Config
from regard.data.tokenizer import Tokenizers
from regard.errors import ConfigError, InputError, ModelFolderError
from regard.models.ensemble import load_ensemble
from regard.models.folder import CONFIG, WEIGHTS, LoadedModel
from regard.models.start import read_start

FREE = {"dropout", "dropout_side"}
"""Keys of `tokenizer` that may differ from the teachers': all others say what the tokens are."""


def files_of_teachers(config: Config) -> list[Path]:
    """The files by which one can tell that a teacher is still the same."""
    return [Path(folder) / file for folder in dict.fromkeys(config.train.teachers) for file in (WEIGHTS, CONFIG)]


def bytes_of_teachers(config: Config) -> int:
    """What the weights of all teachers take in the memory of each process."""
    return sum((Path(folder) / WEIGHTS).stat().st_size for folder in config.train.teachers)


def read_teachers(config: Config) -> LoadedModel:
    """The models of `train.teachers`, several as one; they must know the languages and the tokens of a student."""
    try:
        loaded = load_ensemble(config.train.teachers)
    except (InputError, ModelFolderError) as error:
        raise ConfigError(f"`train.teachers`: {error}") from None
    check_suits(config, loaded.config, f"the model of `train.teachers` ({config.train.teachers[0]})")
    return loaded


def check_suits(config: Config, teacher: Config, name: str) -> None:
    """Refuse a teacher, called `name` in errors, that does not know the languages or the tokens of a student."""
    ours, theirs = (each.tokenizer.model_dump(exclude=FREE) for each in (config, teacher))
    for key, value in ours.items():
        if value != theirs[key]:
            raise ConfigError(
                f"`tokenizer.{key}` is {value!r}, but {name} has {theirs[key]!r}; a student has its teachers' tokens: "
                "set it so"
            )
    missing = sorted(set(config.data.pairs) - set(teacher.data.pairs))
    if missing:
        raise ConfigError(f"{name} does not translate {' to '.join(missing[0])}, which its student is to learn")
    if config.data.tags != teacher.data.tags:
        tags = str(config.data.tags).lower()
        raise ConfigError(f"`data.tags` is {tags}, but not for {name}: a student is asked as its teachers are")
    longest = teacher.model.max_positions - 1  # a sentence has a mark
    if teacher.model.positions == "learned" and config.data.max_tokens > longest:
        raise ConfigError(
            f"`data.max_tokens` is {config.data.max_tokens}, but {name} learned positions for {longest} tokens and a "
            f"mark: set `data.max_tokens` to {longest} or less"
        )


def check_teachers(config: Config, run: Path) -> None:
    """Refuse teachers that do not suit, or whose tokens are not those that a run has, or will begin with."""
    if not config.train.teachers:
        return
    taught = read_teachers(config).tokenizers
    if Tokenizers.exist(run):
        own, whose = Tokenizers.load(run), f"the run in {run}"
    elif config.model.start is not None:
        own, whose = read_start(config).tokenizers, f"`model.start` ({config.model.start})"
    else:
        return
    for side in ("source", "target"):
        if getattr(taught, side).to_json() != getattr(own, side).to_json():
            raise ConfigError(
                f"the {side} vocabulary of {whose} is not that of `train.teachers` ({config.train.teachers[0]}), and a "
                "student has its teachers' tokens: choose another folder with --run, or other models"
            )
