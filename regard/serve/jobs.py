"""What is asked of the pool and what it answers: jobs, answers, settings, and the ways in which it says no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regard.errors import RegardError
from regard.search.alignment import Alignment
from regard.search.control_report import ControlledTranslation
from regard.search.translator import Translation


@dataclass(frozen=True)
class Pair:
    """A direction of translation, by the codes of its languages."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True)
class Job:
    """Sentences to translate, each one line, and how."""

    texts: tuple[str, ...]
    best: int = 1
    """Translations of each; with a glossary or spans to keep there is one."""
    glossary: tuple[tuple[str, str], ...] = ()
    keep_spans: bool = False
    alignment: bool = False
    beam: int | None = None
    """None: the model's own, or as many as `best` asks for if that is more."""

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    @property
    def controlled(self) -> bool:
        """Whether terms or spans have to be met."""
        return bool(self.glossary) or self.keep_spans


@dataclass(frozen=True)
class Answer:
    """What became of a job, sentence by sentence, in its order."""

    translations: list[list[Translation]]
    """Of each sentence, best first."""
    alignments: list[list[Alignment]] | None = None
    """Of each translation of each sentence, where the job asked for them."""
    constraints: list[ControlledTranslation] | None = None
    """What became of the terms and spans of each sentence, where the job has any."""


@dataclass(frozen=True)
class Progress:
    """How far a watched job is: the text so far of each sentence; the last one has the answer, too."""

    texts: tuple[str, ...]
    answer: Answer | None = None


class Busy(RegardError):  # noqa: N818 - the name that callers read
    """The queue is full, or the pool is about to stop."""

    def __init__(self, retry_after: float, message: str = "the server has as much to do as it can hold") -> None:
        super().__init__(f"{message}; try again in {retry_after:.0f} s")
        self.retry_after = retry_after


class TookTooLong(RegardError):  # noqa: N818
    """A job was not done within its time, and has been given up."""


class WorkerFailed(RegardError):  # noqa: N818
    """Something broke while a job was done. It says nothing of the cause, which is in `__cause__`."""


@dataclass(frozen=True)
class PoolSettings:
    """How much the pool takes on at once."""

    workers: int = 0
    """Threads that search; 0: one for each core that it may use."""
    queue_sentences: int = 2048
    queue_characters: int = 1_000_000
    """What may wait or be under way, together; a job beyond it is refused, unless it is alone."""
    batch_tokens: int = 4096
    """Source tokens that are taken up at once."""
    seconds: float = 30.0
    """The time for one job, its waiting included."""
    explanations: int = 8
    """Explanations that may wait or be under way; they are made one at a time."""


@dataclass(frozen=True)
class Batch:
    """Some sentences of a pair that came to their end; told to observers."""

    pair: Pair
    together: int
    """Sentences that were searched side by side when these ended."""
    sentences: int
    """Those that ended."""
    source_tokens: int
    target_tokens: int
    seconds: float
    """Since the search was last looked at."""


@dataclass(frozen=True)
class Statistics:
    """What the pool has to do at a moment."""

    jobs: int
    sentences: int
    """Waiting or under way."""
    characters: int
    waiting: int
    """Those sentences which nobody has begun."""
    explanations: int


Observer = Callable[[Batch], None]
