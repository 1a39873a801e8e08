"""Teachers that are not there yet: what a run trains before itself, by `train.teacher_recipe`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.config import Config
from regard.data.identity import files_of
from regard.data.lines import check_readable
from regard.errors import ConfigError, RegardError
from regard.models.folder import CONFIG, WEIGHTS
from regard.models.teachers import check_suits
from regard.recipe import load_config
from regard.run_folder import check_beginning, check_run, has_begun, is_under_way

MACHINE = ("device", "threads", "processes", "precision")
"""Keys of `train` that a teacher has from its student: what they compute on is one machine."""


def missing_teachers(config: Config, run: Path, pupils: tuple[Path, ...] = ()) -> Iterator[tuple[Config, Path]]:
    """What has to be trained before a run can begin in this folder: configurations, each with its folder, in order.

    Whether a teacher is there is asked when its turn has come. `pupils` are the folders that wait for this one.
    """
    recipe = config.train.teacher_recipe
    if not recipe or has_begun(run):
        return
    pupils = (*pupils, run.resolve())
    teachers = [_Teacher.of(config, Path(name), seed) for seed, name in enumerate(_distinct(config.train.teachers), 1)]
    _check(config, run, teachers, pupils)
    for teacher in teachers:
        if not teacher.is_there:
            yield from missing_teachers(teacher.config, teacher.folder, pupils)
            yield teacher.config, teacher.folder


@dataclass(frozen=True)
class _Teacher:
    """A teacher as its student's recipe would have it."""

    config: Config
    folder: Path

    @classmethod
    def of(cls, student: Config, folder: Path, seed: int) -> _Teacher:
        try:
            teacher = load_config(student.train.teacher_recipe)
        except ConfigError as error:
            raise ConfigError(f"`train.teacher_recipe`: {error}") from None
        machine = {key: getattr(student.train, key) for key in MACHINE}
        train = teacher.train.model_copy(update=machine)
        return cls(teacher.model_copy(update={"seed": seed, "train": train}), folder)

    @property
    def is_there(self) -> bool:
        """Whether there is a model already, made by whatever recipe, and not under way."""
        return (self.folder / WEIGHTS).exists() and not is_under_way(self.folder)


def _distinct(names: Iterable[str]) -> list[str]:
    """Folders, each once, however it is written."""
    return list({Path(name).resolve(): name for name in reversed(list(names))}.values())[::-1]


def _check(config: Config, run: Path, teachers: Iterable[_Teacher], pupils: tuple[Path, ...]) -> None:
    """Refuse now what would be refused when the teachers are trained."""
    check_beginning(config, run)
    for file in files_of(config.data):
        check_readable(file)
    recipe = config.train.teacher_recipe
    for teacher in teachers:
        if teacher.is_there:
            check_suits(config, _config_in(teacher.folder), f"the model of `train.teachers` ({teacher.folder})")
            continue
        if teacher.folder.resolve() in pupils:
            raise ConfigError(
                f"`train.teachers`: {teacher.folder} would be trained by itself; name another folder for it"
            )
        check_suits(config, teacher.config, f"`train.teacher_recipe` ({recipe})")
        try:
            check_run(teacher.config, teacher.folder)
        except RegardError as error:
            raise ConfigError(
                f"`train.teachers`: {teacher.folder} cannot be trained by {recipe} with seed {teacher.config.seed}; "
                f"name another folder, or finish what is there by its own command ({error})"
            ) from None


def _config_in(folder: Path) -> Config:
    try:
        return load_config(folder / CONFIG)
    except ConfigError as error:
        raise ConfigError(f"`train.teachers`: {error}") from None
