"""Whole searches in C: greedy and beam search over any number of sentences, in several threads."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import NamedTuple

from regard.native.choice import MAX_BEST
from regard.native.engine import ModelsStructure, PackedModel
from regard.native.library import LONG, POINTER, loaded

ROWS = 256
"""Hypotheses that a worker keeps going: products with fewer rows are slower, more gain nothing."""
MOST_BYTES = 2**31
"""Of keys and values that all sentences under way may come to need; one sentence alone may need more."""
MAX_BEAM = MAX_BEST
PATIENCE = 0.1
"""Seconds between two looks at how far the workers are."""
INT32, UINT8, FLOAT32, FLOAT64 = array("i", (0,)), array("B", (0,)), array("f", (0.0,)), array("d", (0.0,))
"""One zero of each kind. Small arrays of the standard library are made, found and read faster than those of numpy."""


class _Job(ctypes.Structure):
    _fields_ = (
        ("models", ModelsStructure),
        *((name, LONG) for name in ("sentences", "workers", "beam", "best", "rows", "batch_tokens", "positions")),
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
    penalties: array[float]
    begin_mark: int
    end_mark: int
    forbidden: array[int]
    """Numbers of 64 bits, as the limits of outputs are."""
    batch_tokens: int


class Found(NamedTuple):
    """An output, without marks."""

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool
    token_log_probabilities: list[float]
    """Of each token, and of the end mark if there is one."""


class Prepared:
    """Sources as the engine takes them, with the limit of each one's outputs, and room for what it finds.

    `unchanged`: the weights are what they were when a search was prepared last.
    """

    def __init__(
        self,
        model: PackedModel,
        sources: Sequence[Sequence[int]],
        limits: array[int],
        task: Task,
        threads: int = 1,
        *,
        unchanged: bool = False,
        watched: bool = False,
    ) -> None:
        beam, best = task.beam, task.best
        if not 1 <= best <= beam <= MAX_BEAM:
            raise ValueError(f"the {best} best with a beam of {beam}: a beam has 1 to {MAX_BEAM} places")
        self.count = count = len(sources)
        self.threads = max(1, min(threads, count))
        self._best, self._limits = best, limits
        lengths = [len(source) for source in sources]
        source, source_first = array("i", chain.from_iterable(sources)), array("q", accumulate(lengths, initial=0))
        self._first = array("q", accumulate([best * limit for limit in limits], initial=0))
        room = self._first[-1]
        self._tokens, self._values = INT32 * room, FLOAT32 * room
        self._found, self._lengths = INT32 * count, INT32 * (count * best)
        self._log_probabilities, self._scores = FLOAT64 * (count * best), FLOAT64 * (count * best)
        self._finished = UINT8 * (count * best)
        self.given_up, self.ended = UINT8 * count, UINT8 * count
        self.models = model.models(max([*lengths, *limits, 1]), unchanged)
        rows = min(ROWS, -(-count // self.threads) * beam)
        positions = max(1, MOST_BYTES // model.position_bytes // self.threads)
        given: tuple[array[int] | array[float], ...] = (task.forbidden, source, source_first, limits, task.penalties)
        made: tuple[array[int] | array[float], ...] = (
            self._tokens, self._values, self._first, self._found, self._lengths, self._log_probabilities, self._scores,
            self._finished,
        )  # fmt: skip
        self.job = _Job(
            self.models, count, self.threads, beam, best, max(rows, beam),
            task.batch_tokens, positions, task.begin_mark, task.end_mark, len(task.forbidden), *map(_address, given),
            0, 0, 0, 0, *map(_address, made), watched, _address(self.given_up), _address(self.ended),
        )  # fmt: skip
        # What the job points to lives as long as it does, even if somebody who waits for workers is interrupted again.
        self.job.kept = (self.models, given, made, self.given_up, self.ended)

    @property
    def left(self) -> int:
        """How many sources have not ended."""
        done: int = self.job.done
        return self.count - done

    def outputs(self, number: int) -> list[Found]:
        """What was found for one source, best first."""
        outputs = []
        first, limit, place = self._first[number], self._limits[number], number * self._best
        for n in range(self._found[number]):
            begin, at = first + n * limit, place + n
            end, finished = begin + self._lengths[at], bool(self._finished[at])
            tokens, values = self._tokens[begin:end].tolist(), self._values[begin : end + finished].tolist()
            outputs.append(Found(tokens, self._scores[at], self._log_probabilities[at], finished, values))
        return outputs

    def so_far(self, number: int) -> list[int]:
        """The best hypothesis of a source that is watched and has not ended."""
        begin = self._first[number]
        return self._tokens[begin : begin + self._lengths[number * self._best]].tolist()


def _address(numbers: array[int] | array[float]) -> int:
    return numbers.buffer_info()[0]


def search(
    model: PackedModel,
    sources: Sequence[Sequence[int]],
    limits: array[int],
    task: Task,
    threads: int,
    advanced: Callable[[int], None],
) -> list[list[Found]]:
    """The best outputs of each source; begin with the longest. `advanced` hears how many more are done."""
    prepared = Prepared(model, sources, limits, task, threads)
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
