"""Planning for teachers that are not there yet: untrained models stand in for them, which take as long to ask."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from regard.config import Config, CorpusConfig
from regard.data.tokenizer import Tokenizers
from regard.models import build_model
from regard.models.folder import save_model
from regard.planning.text import look_at_text


@dataclass(frozen=True)
class StandIns:
    """Untrained models in place of those that will be trained."""

    home: Path
    known: Path | None = None
    """A model that is there, whose vocabulary they have."""
    of: dict[str, Path] = field(default_factory=dict)
    """By the folders of those."""

    def make(self, teacher: Config, folder: Path) -> Path:
        """Make a model with the vocabulary and the shape that a teacher will have in `folder`."""
        home = self.home / str(len(self.of))
        home.mkdir()
        if self.known is not None:
            tokenizers = Tokenizers.load(self.known)
        else:
            tokenizers = look_at_text(self.instead(teacher), folder, home).tokenizers
        sizes = (tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
        model = build_model(teacher.model, *sizes, teacher.seed)
        save_model(home / "model", model, teacher, tokenizers, card="")
        return home / "model"

    def instead(self, config: Config) -> Config:
        """The same configuration with what stands in for its teachers and makers, none of which is to be trained."""
        models = {Path(folder).resolve(): model for folder, model in self.of.items()}

        def named(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(str(models.get(Path(name).resolve(), name)) for name in names)

        def made(corpus: CorpusConfig) -> CorpusConfig:
            makers = {"target_by": named(corpus.target_by), "source_by": named(corpus.source_by)}
            return corpus.model_copy(update=makers)

        train = {"teachers": named(config.train.teachers), "teacher_recipe": ""}
        data = {"train": tuple(map(made, config.data.train))}
        changes = {"train": config.train.model_copy(update=train), "data": config.data.model_copy(update=data)}
        return config.model_copy(update=changes)

    def named(self, words: str) -> str:
        """Words about them as they should be: about those that they stand in for."""
        for folder, model in self.of.items():
            words = words.replace(str(model), folder)
        return words


@contextmanager
def stand_ins(config: Config) -> Iterator[StandIns]:
    """Where there is room for untrained models of a student's teachers, for a while."""
    folders = [Path(name) for name in (config.model.start, *config.train.teachers) if name]
    with tempfile.TemporaryDirectory(prefix="regard-plan-") as home:
        yield StandIns(Path(home), next(filter(Tokenizers.exist, folders), None))
