"""Whole searches in C: greedy and beam search over any number of sentences, in several threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.native.choice import MAX_BEST
from regard.native.engine import ModelsStructure, PackedModel
from regard.native.library import LONG, POINTER, loaded

ROWS = 256
"""Hypotheses that a worker keeps going: products with fewer rows are slower, more gain nothing."""
MAX_BEAM = MAX_BEST
PATIENCE = 0.1
"""Seconds between two looks at how far the workers are."""


class _Job(ctypes.Structure):
    _fields_ = (
        ("models", ModelsStructure),
        *((name, LONG) for name in ("sentences", "workers", "beam", "best", "rows", "batch_tokens")),
        *((name, ctypes.c_int32) for name in ("begin_mark", "end_mark")),
        ("forbidden", LONG),
        *((name, POINTER) for name in ("never", "source", "source_first", "limits", "penalties")),
        *((name, ctypes.c_int64) for name in ("next", "done", "stop", "failed")),
        *((name, POINTER) for name in ("tokens", "token_values", "tokens_first", "found", "lengths")),
        *((name, POINTER) for name in ("log_probabilities", "scores", "finished")),
        ("watched", LONG),
        *((name, POINTER) for name in ("given_up", "ended")),
    )


@dataclass(frozen=True)
class Task:
    """What to look for. Penalties [largest limit + 1] divide the log-probabilities of outputs by length."""

    beam: int
    best: int
    limits: NDArray[np.int64]
    penalties: NDArray[np.float64]
    begin_mark: int
    end_mark: int
    forbidden: Sequence[int]
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class Found:
    """An output, without marks."""

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool
    token_log_probabilities: list[float]
    """Of each token, and of the end mark if there is one."""


class Prepared:
    """Sources as the engine takes them, and room for what it finds.

    `unchanged`: the weights are what they were when a search was prepared last.
    """

    def __init__(
        self,
        model: PackedModel,
        sources: Sequence[Sequence[int]],
        task: Task,
        threads: int = 1,
        *,
        unchanged: bool = False,
        watched: bool = False,
    ) -> None:
        if not 1 <= task.best <= task.beam <= MAX_BEAM:
            raise ValueError(f"the {task.best} best with a beam of {task.beam}: a beam has 1 to {MAX_BEAM} places")
        self.task, self.count = task, len(sources)
        self.threads = max(1, min(threads, self.count))
        lengths = [len(source) for source in sources]
        source = np.fromiter((token for one in sources for token in one), dtype=np.int32)
        source_first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        self._first = np.concatenate([[0], np.cumsum(task.limits * task.best)])
        room, shape = int(self._first[-1]), (self.count, task.best)
        self._tokens, self._values = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
        never = np.array(task.forbidden, dtype=np.int64)
        self._found, self._lengths = np.zeros(self.count, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        self._log_probabilities, self._scores = np.zeros(shape), np.zeros(shape)
        self._finished = np.zeros(shape, dtype=np.uint8)
        self.given_up, self.ended = np.zeros(self.count, dtype=np.uint8), np.zeros(self.count, dtype=np.uint8)
        positions = max(*lengths, int(task.limits.max(initial=1)), 1)
        self.models = model.models(positions, unchanged)
        rows = min(ROWS, -(-self.count // self.threads) * task.beam)
        given: tuple[NDArray[Any], ...] = (never, source, source_first, task.limits, task.penalties)
        made: tuple[NDArray[Any], ...] = (
            self._tokens, self._values, self._first, self._found, self._lengths, self._log_probabilities, self._scores,
            self._finished,
        )  # fmt: skip
        self.job = _Job(
            self.models, self.count, self.threads, task.beam, task.best, max(rows, task.beam),
            task.batch_tokens, task.begin_mark, task.end_mark, len(never), *map(_address, given),
            0, 0, 0, 0, *map(_address, made), watched, _address(self.given_up), _address(self.ended),
        )  # fmt: skip
        # What the job points to lives as long as it does, even if somebody who waits for workers is interrupted again.
        self.job.kept = (self.models, given, made, self.given_up, self.ended)

    def outputs(self, number: int) -> list[Found]:
        """What was found for one source, best first."""
        return [self._output(number, n) for n in range(self._found[number])]

    def so_far(self, number: int) -> list[int]:
        """The best hypothesis of a source that is watched and has not ended."""
        begin = int(self._first[number])
        tokens: list[int] = self._tokens[begin : begin + int(self._lengths[number, 0])].tolist()
        return tokens

    def _output(self, number: int, n: int) -> Found:
        begin, length = int(self._first[number] + n * self.task.limits[number]), int(self._lengths[number, n])
        ended = bool(self._finished[number, n])
        return Found(
            self._tokens[begin : begin + length].tolist(),
            float(self._scores[number, n]),
            float(self._log_probabilities[number, n]),
            ended,
            self._values[begin : begin + length + ended].tolist(),
        )


def _address(array: NDArray[Any]) -> int:
    """Where an array begins; `array.ctypes.data`, which makes an object for it, takes three times as long."""
    address: int = array.__array_interface__["data"][0]
    return address


def search(
    model: PackedModel,
    sources: Sequence[Sequence[int]],
    task: Task,
    threads: int,
    advanced: Callable[[int], None],
) -> list[list[Found]]:
    """The best outputs of each source; begin with the longest. `advanced` hears how many more are done."""
    prepared = Prepared(model, sources, task, threads)
    _run(prepared.job, prepared.threads, advanced)
    return [prepared.outputs(number) for number in range(prepared.count)]


def _run(job: _Job, threads: int, advanced: Callable[[int], None]) -> None:
    """Let workers do the job; an interruption stops them before it goes on."""
    function = loaded().search
    if threads == 1 and job.sentences == 1:
        function(ctypes.byref(job))
        advanced(1)
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="regard-search") as pool:
            try:
                waiting = {pool.submit(function, ctypes.byref(job)) for _ in range(threads)}
                told = 0
                while waiting:
                    waiting = wait(waiting, timeout=PATIENCE).not_done
                    done = int(job.done)
                    advanced(done - told)
                    told = done
            finally:
                job.stop = 1
    if job.failed:
        raise MemoryError("there is not enough memory for this search; ask for a smaller beam")
