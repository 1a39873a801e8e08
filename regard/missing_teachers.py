"""Teachers, and models that make text, which are not there yet: what a run trains first, by `train.teacher_recipe`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from regard.config import Config, CorpusConfig
from regard.data.identity import files_of
from regard.data.lines import check_readable
from regard.errors import ConfigError, RegardError
from regard.models.folder import CONFIG, WEIGHTS
from regard.models.teachers import check_suits
from regard.models.text_makers import check_translates, made_corpora
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
    teachers = _teachers(config)
    _check(config, run, teachers, pupils)
    for teacher in teachers:
        if not teacher.is_there:
            planned = teacher.config(config)
            yield from missing_teachers(planned, teacher.folder, pupils)
            yield planned, teacher.folder


@dataclass(frozen=True)
class _Teacher:
    """A model as its student's recipe would have it."""

    name: str
    """Its folder, as the student's recipe has it."""
    seed: int
    key: str
    """Where the student's recipe names it."""
    corpora: tuple[CorpusConfig, ...]
    """Those that it makes a side of."""
    teaches: bool
    back: bool
    """Whether it is of the other direction."""

    @property
    def folder(self) -> Path:
        return Path(self.name)

    @property
    def is_there(self) -> bool:
        """Whether there is a model already, made by whatever recipe, and not under way."""
        return (self.folder / WEIGHTS).exists() and not is_under_way(self.folder)

    def config(self, student: Config) -> Config:
        """How it is to be trained."""
        try:
            teacher = load_config(student.train.teacher_recipe)
            teacher = teacher.turned() if self.back else teacher
        except ConfigError as error:
            raise ConfigError(f"`train.teacher_recipe`: {error}") from None
        machine = {key: getattr(student.train, key) for key in MACHINE}
        train = teacher.train.model_copy(update=machine)
        return teacher.model_copy(update={"seed": self.seed, "train": train})

    def check_suits(self, student: Config, model: Config, name: str) -> None:
        """Refuse a model, called `name` in errors, that cannot do what the student's recipe has it for."""
        if self.teaches:
            check_suits(student, model, name)
        for corpus in self.corpora:
            check_translates(student, corpus, model, name)


def _teachers(config: Config) -> list[_Teacher]:
    """Those that teach or make targets, then those that lead back; each kind has its seeds, from 1 on."""
    named: list[tuple[str, str, CorpusConfig | None]] = [
        (name, "`train.teachers`", None) for name in config.train.teachers
    ]
    made = sorted(made_corpora(config), key=lambda one: bool(one[1].source_by))
    named += [(name, key, corpus) for key, corpus in made for name in corpus.made_by]
    found: dict[Path, _Teacher] = {}
    for name, key, corpus in named:
        place, back = Path(name).resolve(), bool(corpus and corpus.source_by)
        seed = 1 + sum(teacher.back == back for teacher in found.values())
        before = found.get(place) or _Teacher(name, seed, key, (), corpus is None, back)
        found[place] = replace(before, corpora=(*before.corpora, *([corpus] if corpus else [])))
    return list(found.values())


def _check(config: Config, run: Path, teachers: Iterable[_Teacher], pupils: tuple[Path, ...]) -> None:
    """Refuse now what would be refused when the teachers are trained."""
    check_beginning(config, run)
    for file in files_of(config.data):
        check_readable(file)
    recipe = config.train.teacher_recipe
    for teacher in teachers:
        if teacher.is_there:
            own = _config_in(teacher.folder, teacher.key)
            teacher.check_suits(config, own, f"the model of {teacher.key} ({teacher.folder})")
            continue
        if teacher.folder.resolve() in pupils:
            raise ConfigError(f"{teacher.key}: {teacher.folder} would be trained by itself; name another folder for it")
        planned = teacher.config(config)
        teacher.check_suits(config, planned, f"`train.teacher_recipe` ({recipe})")
        try:
            check_run(planned, teacher.folder)
        except RegardError as error:
            raise ConfigError(
                f"{teacher.key}: {teacher.folder} cannot be trained by {recipe} with seed {teacher.seed}; "
                f"name another folder, or finish what is there by its own command ({error})"
            ) from None


def _config_in(folder: Path, key: str) -> Config:
    try:
        return load_config(folder / CONFIG)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
