"""From teachers and a recipe to a student: its text is translated, it learns that, and both are measured."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

from regard.config import Config
from regard.data.corpus import Pair, read_pairs
from regard.errors import ConfigError, InputError, RegardError
from regard.evaluate.evaluation import EvaluationOptions, evaluate_system
from regard.evaluate.metrics import bleu_metric
from regard.evaluate.report import Evaluation
from regard.models.ensemble import Average
from regard.models.teachers import check_teachers
from regard.pipeline import TrainResult, train_run
from regard.progress import note, task
from regard.recipe import override_config
from regard.run_folder import check_run, hold
from regard.search.options import SearchOptions, search_config
from regard.search.translator import Translator
from regard.train.signals import stop_request
from regard.translated.corpus import Choice, Taught
from regard.translated.makers import Makers, made_corpus, note_replaced

FOLDER = "distilled"
"""Where in a student's run its teachers' translations are kept."""


@dataclass(frozen=True)
class Distilled:
    """What a distillation gave; evaluations are on the recipe's validation data, without intervals."""

    training: TrainResult
    taught: tuple[Taught, ...]
    teacher: Evaluation | None
    student: Evaluation | None

    @property
    def speed_ratio(self) -> float | None:
        """How many times as fast as the teacher the student translates."""
        if self.teacher is None or self.student is None or not self.teacher.seconds or not self.student.seconds:
            return None
        return self.teacher.seconds / self.student.seconds

    def _count(self, what: str) -> int:
        return sum(int(getattr(taught, what)) for taught in self.taught)

    def to_json(self) -> dict[str, Any]:
        return {
            "translated": {what: self._count(what) for what in ("pairs", "same", "replaced")},
            "files": [str(taught.path) for taught in self.taught],
            "teacher": self.teacher.to_json() if self.teacher else None,
            "student": self.student.to_json() if self.student else None,
            "speed_ratio": self.speed_ratio,
            "training": self.training.to_json(),
        }

    def to_text(self) -> str:
        pairs, same, replaced = (self._count(what) for what in ("pairs", "same", "replaced"))
        lines = [f"{pairs:,} pairs translated: {same:,} as their reference, {replaced:,} replaced by it"]
        lines.append(self.training.to_text())
        for name, evaluation in (("teacher", self.teacher), ("student", self.student)):
            if evaluation is not None:
                scores = f"BLEU {evaluation.bleu.value:.2f}, chrF {evaluation.chrf.value:.2f}"
                lines.append(f"{name}: validation {scores}, {evaluation.sentences_per_second or 0:,.0f} sentences/s")
        if self.student is not None:
            lines.append(f"BLEU {self.student.bleu.signature}")
        return "\n".join(lines)


def distill_run(
    teachers: Sequence[str | Path],
    config: Config,
    run: str | Path,
    *,
    back: Sequence[str | Path] = (),
    choice: Choice = "likeliest",
    original: float = 0.0,
    words: float = 0.0,
    average: Average = "probabilities",
    tokenize: str | None = None,
    **search: Unpack[SearchOptions],
) -> Distilled:
    """Train what a configuration describes on its training text as teachers (several: an ensemble) translate it.

    With `back`, models of the other direction (several: an ensemble), what they make of the targets is learned as
    sources, too. With `original`, the text itself is learned: each pair so many times as often as the recipe would have
    it. With `words`, what the teachers say of every token is that share of the target, and the student has their
    vocabulary. `tokenize` is BLEU's, for the validation at the end. What was interrupted goes on where it was.
    """
    run = Path(run)
    _check(config, len(teachers), original)
    config = _with_teachers(config, teachers, words)
    check_run(student := student_config(config, run, original, bool(back)), run)
    check_teachers(student, run)
    bleu_metric(config.data.target_language, tokenize)
    held_out = _held_out(config)
    sides = [Makers.load(teachers, average)]
    if back:
        sides.append(Makers.load(back, average, back=True))
    for side in sides:
        own = [side.between(config.data.pair_of(corpus)) for corpus in config.data.train]
        _check_search(own[0], choice, **search)
        _note_differences(side, config)
    asked: SearchOptions = {name: value for name, value in search.items() if value is not None}  # type: ignore[assignment]
    with stop_request() as stop, stop.at_once(), hold(run):
        taught = [
            [
                side.make(corpus, config, _folder(run, number, side.back), choice, **asked)
                for number, corpus in enumerate(config.data.train)
            ]
            for side in sides
        ]
    for each in taught:
        note_replaced(each)
    training = train_run(student, run)
    teacher = _judged("teacher", sides[0].translator, config, held_out, tokenize, **asked)
    of_student = _judged("student", Translator.load(run), config, held_out, tokenize)
    return Distilled(training, tuple(chain.from_iterable(taught)), teacher, of_student)


def _with_teachers(config: Config, teachers: Sequence[str | Path], words: float) -> Config:
    """The recipe of a student that learns how likely each word is, too."""
    if not words:
        return config
    if config.train.consistency or config.train.self_distillation:
        key = "consistency" if config.train.consistency else "self_distillation"
        raise ConfigError(
            f"the recipe has `train.{key}`, and learning from teachers word by word does without: set it to 0"
        )
    names = json.dumps([str(teacher) for teacher in teachers], ensure_ascii=False)
    return override_config(config, [f"train.teachers={names}", "train.teacher_recipe=", f"train.distillation={words}"])


def student_config(config: Config, run: Path, original: float, back: bool = False) -> Config:
    """The recipe with the teacher's translations in the place of its text, or beside it."""
    corpora = [
        made_corpus(corpus, _folder(run, number, turned))
        for turned in ((False, True) if back else (False,))
        for number, corpus in enumerate(config.data.train)
    ]
    if original:
        corpora += [corpus.model_copy(update={"weight": corpus.weight * original}) for corpus in config.data.train]
    return config.model_copy(update={"data": config.data.model_copy(update={"train": tuple(corpora)})})


def _folder(run: Path, number: int, back: bool) -> Path:
    """Where in a run the translations of a corpus are kept."""
    return run / FOLDER / (f"back-{number}" if back else str(number))


def _check(config: Config, teachers: int, original: float) -> None:
    if not teachers:
        raise InputError("there is no teacher: name the folder of a trained model")
    if not config.data.train:
        raise ConfigError("`data.train` names no corpus: a student learns its text as a teacher translates it")
    if config.data.makers:
        raise ConfigError(
            "`data.train` names text that models make (`target_by`, `source_by`), and `regard train` has them make it: "
            "use that command, or leave such text out"
        )
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise RegardError(
            "a teacher translates in one process: leave out torchrun (train.processes shares the training)"
        )
    if not 0 <= original < float("inf"):
        raise InputError(f"the weight of the original text is {original}: it is 0 (none) or more")


def _check_search(translator: Translator, choice: Choice, **search: Unpack[SearchOptions]) -> None:
    """Say what is wrong with the search before the work begins."""
    translator.translate_nbest([], 1, **search)
    if choice == "closest" and search_config(translator.config.search, search).width < 2:
        raise InputError("the closest of several translations needs several: set the beam to 2 or more")


def _note_differences(side: Makers, config: Config) -> None:
    """Say what a student could not know of its teacher."""
    teacher = side.translator
    if teacher.config.tokenizer.lowercase and not config.tokenizer.lowercase:
        what = "the sources it makes are lower case" if side.back else "its student learns to write lower case"
        note(f"the {'model that leads back' if side.back else 'teacher'} lower-cases all text, so {what}")
    if side.back:
        return
    if config.vocabulary_of is None and teacher.config.tokenizer.vocabulary_size != config.tokenizer.vocabulary_size:
        sizes = teacher.config.tokenizer.vocabulary_size, config.tokenizer.vocabulary_size
        note("the student learns a vocabulary of its own ({1:,} tokens; the teacher's recipe: {0:,})".format(*sizes))


def _held_out(config: Config) -> list[Pair]:
    """The validation data of the recipe's own pair of languages; all of it is read, so that a mistake is said early."""
    own = config.data.source_language, config.data.target_language
    read = [(config.data.pair_of(corpus), list(read_pairs(corpus, config.data))) for corpus in config.data.validation]
    return [pair for languages, pairs in read if languages == own for pair in pairs]


def _judged(
    name: str,
    translator: Translator,
    config: Config,
    pairs: Sequence[Pair],
    tokenize: str | None,
    **search: Unpack[SearchOptions],
) -> Evaluation | None:
    """BLEU, chrF and speed on some pairs of the recipe's own languages; None without any."""
    if not pairs:
        return None
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    translator = translator.between(config.data.source_language, config.data.target_language)
    translator.translate(sources[:1], **search)  # what is done but once is no part of its speed
    options = EvaluationOptions(samples=0, tokenize=tokenize)
    with task(f"measuring the {name}", len(sources)) as work:
        return evaluate_system(translator, sources, references, options=options, progress=work, **search)
