"""The folder of a run: whether a configuration may begin there, or go on with what it holds."""

from __future__ import annotations

from pathlib import Path

from regard.atomic import explained, make_folder, sweep, write_file
from regard.config import Config, TrainConfig
from regard.data.identity import TEXTS, check_texts, keep_texts
from regard.data.tokenizer import Tokenizers
from regard.errors import ConfigError, RegardError
from regard.locking import FolderLock
from regard.models.folder import CONFIG
from regard.models.start import read_start
from regard.models.teachers import check_teachers, files_of_teachers
from regard.models.text_makers import check_makers
from regard.recipe import format_config, load_config
from regard.train.checkpoint import CHECKPOINTS, CheckpointStore
from regard.train.log import check_tensorboard

SAME_RUN = ("seed", "data", "tokenizer", "model")
"""What must not change when a run goes on."""
FINISHED = "finished.json"
"""The figures of a run that came to its end; while it is under way, there are none."""


def check_run(config: Config, run: Path) -> None:
    """Refuse a folder that holds another run; one in which nothing was made yet holds none."""
    if run.exists() and not run.is_dir():
        raise RegardError(f"{run}: is a file; choose a folder for the run with --run")
    if not (run / CONFIG).exists() or not has_begun(run):
        return
    before = load_config(run / CONFIG)
    for section in SAME_RUN:
        if getattr(before, section) != getattr(config, section):
            key = _first_difference(section, before, config)
            raise ConfigError(f"{run}: holds another run, with another `{key}`; choose another folder with --run")
    unlike = _unlike_its_checkpoints(before.train, config.train)
    if unlike is not None and CheckpointStore(run / CHECKPOINTS).begun:
        raise ConfigError(
            f"{run}: its checkpoints were made with `train.{unlike}` = {getattr(before.train, unlike)!r}; go on with "
            "that, or choose another folder with --run"
        )


def open_run(config: Config, run: Path, must_resume: bool) -> FolderLock:
    """Make the run's folder, or see that what it holds belongs to this configuration; and hold it.

    Whatever can be refused is refused before anything in the folder changes.
    """
    check_run(config, run)
    if not CheckpointStore(run / CHECKPOINTS).begun:
        if must_resume:
            raise RegardError(f"{run}: there is no run to resume here, for there is no checkpoint")
        if (run / FINISHED).exists():
            raise RegardError(
                f"{run}: holds a finished model, and no checkpoint to go on from; choose another folder with --run, or "
                f"remove {FINISHED} to train anew over it"
            )
    check_beginning(config, run)
    check_teachers(config, run)
    if not has_begun(run):
        check_makers(config)
    held = hold(run)
    try:
        if not has_begun(run):
            with explained(run / TEXTS, "removed"):
                (run / TEXTS).unlink(missing_ok=True)
        check_texts(config.data, run, files_of_teachers(config))
        sweep(run)
        write_file(run / CONFIG, format_config(config).encode())
        keep_texts(config.data, run, files_of_teachers(config))
    except BaseException:
        held.close()
        raise
    return held


def check_beginning(config: Config, run: Path) -> None:
    """Refuse what a run in this folder cannot begin with, or go on with; its teachers are another matter."""
    if not config.data.train:
        raise ConfigError("`data.train` names no corpus: give it a source and a target file")
    if config.train.tensorboard:
        check_tensorboard()
    if config.model.start is not None and not has_begun(run):
        read_start(config)


def is_under_way(run: Path) -> bool:
    """Whether a run has begun in a folder, and not come to its end; a model from elsewhere is no run."""
    begun = (run / TEXTS).exists() or CheckpointStore(run / CHECKPOINTS).begun
    return begun and not (run / FINISHED).exists()


def remove_finished(run: Path) -> None:
    """Say that a run is under way: there are no figures of its end."""
    with explained(run / FINISHED, "removed"):
        (run / FINISHED).unlink(missing_ok=True)


def hold(run: Path) -> FolderLock:
    """Keep other commands out: two that train in one folder would write over each other's files."""
    with explained(run):
        make_folder(run)
        try:
            return FolderLock(run, wait=False)
        except BlockingIOError:
            raise RegardError(
                f"{run}: another command is training there; wait for its end, stop it, or choose another folder with "
                "--run"
            ) from None


def has_begun(run: Path) -> bool:
    """Whether there is anything that follows from a configuration: a vocabulary, or checkpoints."""
    return Tokenizers.exist(run) or CheckpointStore(run / CHECKPOINTS).begun


def _unlike_its_checkpoints(before: TrainConfig, now: TrainConfig) -> str | None:
    """The first key of `train` without which a checkpoint cannot be used, or its score or loss not be compared."""
    if "muon" in (before.optimiser, now.optimiser) and before.optimiser != now.optimiser:
        return "optimiser"
    if now.ema and not before.ema:
        return "ema"
    if before.teachers != now.teachers:
        return "teachers"
    if before.choose_by != now.choose_by:
        return "choose_by"
    if now.choose_by == "bleu" and before.validation_sentences != now.validation_sentences:
        return "validation_sentences"
    return None


def _first_difference(section: str, before: Config, now: Config) -> str:
    old, new = before.model_dump()[section], now.model_dump()[section]
    if not isinstance(old, dict):
        return section
    return next(f"{section}.{key}" for key in old if old[key] != new[key])
