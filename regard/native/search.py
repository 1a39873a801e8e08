"""Whole searches in C: greedy and beam search over any number of sentences, in several threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.native.choice import MAX_BEST
from regard.native.engine import PackedTransformer
from regard.native.library import LONG, POINTER, loaded

ROWS = 256
"""Hypotheses that a worker keeps going: products with fewer rows are slower, more gain nothing."""
MAX_BEAM = MAX_BEST
PATIENCE = 0.1
"""Seconds between two looks at how far the workers are."""


class _Job(ctypes.Structure):
    _fields_ = (
        ("model", POINTER),
        *((name, LONG) for name in ("sentences", "workers", "beam", "best", "rows", "batch_tokens")),
        *((name, ctypes.c_int32) for name in ("begin_mark", "end_mark")),
        ("forbidden", LONG),
        *((name, POINTER) for name in ("never", "source", "source_first", "limits", "penalties")),
        *((name, ctypes.c_int64) for name in ("next", "done", "stop", "failed")),
        *((name, POINTER) for name in ("tokens", "token_values", "tokens_first", "found", "lengths")),
        *((name, POINTER) for name in ("log_probabilities", "scores", "finished")),
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


def search(
    model: PackedTransformer,
    sources: Sequence[Sequence[int]],
    task: Task,
    threads: int,
    advanced: Callable[[int], None],
) -> list[list[Found]]:
    """The best outputs of each source; begin with the longest. `advanced` hears how many more are done."""
    if not 1 <= task.best <= task.beam <= MAX_BEAM:
        raise ValueError(f"the {task.best} best with a beam of {task.beam}: a beam has 1 to {MAX_BEAM} places")
    count = len(sources)
    longest = max((len(source) for source in sources), default=1)
    largest = int(task.limits.max(initial=1))
    source = np.fromiter((token for one in sources for token in one), dtype=np.int32)
    first = np.concatenate([[0], np.cumsum([len(one) for one in sources], dtype=np.int64)]).astype(np.int64)
    tokens_first = np.concatenate([[0], np.cumsum(task.limits * task.best)])
    tokens, values = np.empty(int(tokens_first[-1]), dtype=np.int32), np.empty(int(tokens_first[-1]), dtype=np.float32)
    never = np.array(task.forbidden, dtype=np.int64)
    found, lengths = np.zeros(count, dtype=np.int32), np.zeros((count, task.best), dtype=np.int32)
    log_probabilities, scores = np.zeros((count, task.best)), np.zeros((count, task.best))
    finished = np.zeros((count, task.best), dtype=np.uint8)
    structure = model.structure(max(longest, largest))
    threads = max(1, min(threads, count))
    rows = min(ROWS, -(-count // threads) * task.beam)
    job = _Job(
        ctypes.addressof(structure), count, threads, task.beam, task.best, max(rows, task.beam), task.batch_tokens,
        task.begin_mark, task.end_mark, len(never),
        *(array.ctypes.data for array in (never, source, first, task.limits, task.penalties)), 0, 0, 0, 0,
        *(array.ctypes.data for array in (tokens, values, tokens_first, found, lengths)),
        *(array.ctypes.data for array in (log_probabilities, scores, finished)),
    )  # fmt: skip
    # What the job points to lives as long as it does, even if somebody who waits for the workers is interrupted again.
    job.kept = (structure, never, source, first, task, tokens, values, tokens_first, found, lengths)
    job.kept += (log_probabilities, scores, finished)
    _run(job, threads, advanced)

    def output(number: int, n: int) -> Found:
        begin, length = int(tokens_first[number] + n * task.limits[number]), int(lengths[number, n])
        ended = bool(finished[number, n])
        return Found(
            tokens[begin : begin + length].tolist(),
            float(scores[number, n]),
            float(log_probabilities[number, n]),
            ended,
            values[begin : begin + length + ended].tolist(),
        )

    return [[output(number, n) for n in range(found[number])] for number in range(count)]


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
