"""Teachers that are not there yet: what a run trains before itself, by `train.teacher_recipe`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.config import Config
from regard.data.identity import files_of
from regard.data.lines import check_readable
from regard.errors import ConfigError
from regard.models.folder import WEIGHTS
from regard.models.teachers import check_suits
from regard.recipe import load_config
from regard.run_folder import check_run, has_begun, is_under_way

MACHINE = ("device", "threads", "processes")
"""Keys of `train` that a teacher has from its student: what they compute on is one machine."""


def missing_teachers(config: Config, run: Path, pupils: tuple[Path, ...] = ()) -> Iterator[tuple[Config, Path]]:
    """What has to be trained before a run can begin in this folder: configurations, each with its folder, in order.

    Whether a teacher is there is asked when its turn has come. `pupils` are the folders that wait for this one.
    """
    recipe = config.train.teacher_recipe
    if recipe is None or has_begun(run):
        return
    check_run(config, run)
    for file in files_of(config.data):
        check_readable(file)
    pupils = (*pupils, run.resolve())
    for place, folder in enumerate(map(Path, dict.fromkeys(config.train.teachers)), start=1):
        if (folder / WEIGHTS).exists() and not is_under_way(folder):
            continue
        if folder.resolve() in pupils:
            raise ConfigError(f"`train.teachers`: {folder} would be trained by itself; name another folder for it")
        teacher = _teacher_of(config, recipe, seed=place)
        check_suits(config, teacher, f"`train.teacher_recipe` ({recipe})")
        yield from missing_teachers(teacher, folder, pupils)
        yield teacher, folder


def _teacher_of(student: Config, recipe: str, seed: int) -> Config:
    try:
        teacher = load_config(recipe)
    except ConfigError as error:
        raise ConfigError(f"`train.teacher_recipe`: {error}") from None
    machine = {key: getattr(student.train, key) for key in MACHINE}
    return teacher.model_copy(update={"seed": seed, "train": teacher.train.model_copy(update=machine)})
