"""Teachers, and models that make text, which are not there yet: what a run trains first, by `train.teacher_recipe`."""

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
from regard.models.text_makers import check_translates, key_of
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
    teachers = list(_teachers(config))
    _check(config, run, teachers, pupils)
    for teacher in teachers:
        if not teacher.is_there:
            yield from missing_teachers(teacher.config, teacher.folder, pupils)
            yield teacher.config, teacher.folder


@dataclass(frozen=True)
class _Teacher:
    """A model as its student's recipe would have it."""

    config: Config
    name: str
    """Its folder, as the student's recipe has it."""

    @classmethod
    def of(cls, student: Config, name: str, seed: int, back: bool) -> _Teacher:
        try:
            teacher = load_config(student.train.teacher_recipe)
            teacher = teacher.turned() if back else teacher
        except ConfigError as error:
            raise ConfigError(f"`train.teacher_recipe`: {error}") from None
        machine = {key: getattr(student.train, key) for key in MACHINE}
        train = teacher.train.model_copy(update=machine)
        return cls(teacher.model_copy(update={"seed": seed, "train": train}), name)

    @property
    def folder(self) -> Path:
        return Path(self.name)

    @property
    def is_there(self) -> bool:
        """Whether there is a model already, made by whatever recipe, and not under way."""
        return (self.folder / WEIGHTS).exists() and not is_under_way(self.folder)

    def check_suits(self, student: Config, model: Config, name: str) -> None:
        """Refuse a model, called `name` in errors, that cannot do what the student's recipe has it for."""
        if self.name in student.train.teachers:
            check_suits(student, model, name)
        check_translates(student, model, self.name, name)


def _teachers(config: Config) -> Iterator[_Teacher]:
    """Those that teach or make targets, then those that lead back; each kind has its seeds, from 1 on."""
    there = [name for corpus in config.data.train for name in corpus.target_by]
    back = [name for corpus in config.data.train for name in corpus.source_by]
    for seed, name in enumerate(_distinct([*config.train.teachers, *there]), 1):
        yield _Teacher.of(config, name, seed, back=False)
    for seed, name in enumerate(_distinct(back), 1):
        yield _Teacher.of(config, name, seed, back=True)


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
        key = "`train.teachers`" if teacher.name in config.train.teachers else key_of(config, teacher.name)
        if teacher.is_there:
            teacher.check_suits(config, _config_in(teacher.folder, key), f"the model of {key} ({teacher.folder})")
            continue
        if teacher.folder.resolve() in pupils:
            raise ConfigError(f"{key}: {teacher.folder} would be trained by itself; name another folder for it")
        teacher.check_suits(config, teacher.config, f"`train.teacher_recipe` ({recipe})")
        try:
            check_run(teacher.config, teacher.folder)
        except RegardError as error:
            raise ConfigError(
                f"{key}: {teacher.folder} cannot be trained by {recipe} with seed {teacher.config.seed}; "
                f"name another folder, or finish what is there by its own command ({error})"
            ) from None


def _config_in(folder: Path, key: str) -> Config:
    try:
        return load_config(folder / CONFIG)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
