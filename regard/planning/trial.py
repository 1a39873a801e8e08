"""Trials: short runs in a process of their own, which may run out of memory without harm."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard.config import Config
from regard.errors import RegardError
from regard.recipe import format_config
from regard.train.log import LOG, read_log

NEVER = 1_000_000_000
WARM_UP = 2
"""First steps of a trial that are not counted: memory is fetched, and caches are cold."""


class OutOfMemory(Exception):  # noqa: N818 - no error, but a finding
    """A trial took more memory than there is."""


@dataclass(frozen=True)
class Trial:
    """What a short run showed."""

    peak: int
    """Bytes that one process held at most; 0 where the system does not tell."""
    files: int
    """Those of them that are files, which several processes share."""
    speeds: tuple[float, ...]
    """Target tokens per second, of each step after the first ones."""
    seconds: tuple[float, ...]
    """The time of each of these steps."""

    @property
    def speed(self) -> float:
        return statistics.median(self.speeds)


class TrialProcess:
    """The other end of `regard.planning.trial_process`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def train(self, config: Config, run: Path) -> Trial:
        """Train a short run in the folder `run`, which holds its tokenizers; OutOfMemory if that cannot be."""
        answer = self._ask("train", config, run)
        steps = [(0, 0.0)]
        steps += [(line["tokens"], line["seconds"]) for line in read_log(run / LOG) if line["kind"] == "train"]
        differences = [(after[0] - before[0], max(after[1] - before[1], 1e-3)) for before, after in pairwise(steps)]
        counted = differences[WARM_UP:] or differences[-1:]
        if not counted:
            raise RegardError("the loss of every step tried was not finite: lower train.learning_rate")
        speeds = tuple(tokens / seconds for tokens, seconds in counted)
        return Trial(answer["peak"], answer["files"], speeds, tuple(seconds for _, seconds in counted))

    def judge(self, config: Config, run: Path) -> dict[str, Any]:
        """What a validation and a checkpoint of such a run take."""
        return self._ask("judge", config, run)

    def ask(self, config: Config, run: Path) -> dict[str, Any]:
        """What asking its teachers about some pairs of such a run's text takes."""
        return self._ask("ask", config, run)

    def make(self, config: Config, run: Path) -> dict[str, float]:
        """What it takes for each pair to have models make a side of its text, by the number of the corpus."""
        return self._ask("make", config, run)

    def _ask(self, wish: str, config: Config, run: Path) -> dict[str, Any]:
        place = run.with_suffix(".toml")
        place.write_text(format_config(config), encoding="utf-8")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps({"do": wish, "config": str(place), "run": str(run)}), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._explain_death(self._process.wait())
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise RegardError(answer["refused"])
        if "out_of_memory" in answer:
            raise OutOfMemory
        return answer

    def _explain_death(self, code: int) -> None:
        if code == -9:  # the system's way to free memory
            raise OutOfMemory
        raise RegardError(f"the process that tried steps of this run died (exit code {code}); what it said is above")


@contextmanager
def trial_process() -> Iterator[TrialProcess]:
    """Start the process, and end it after."""
    arguments = [sys.executable, "-m", "regard.planning.trial_process"]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield TrialProcess(process)
    finally:
        process.kill()
        process.communicate()


def trial_config(config: Config, **train: Any) -> Config:
    """A configuration for a trial: every step is logged, nothing is validated, and one checkpoint is saved."""
    changes = dict(
        log_every=1,
        validate_every=NEVER,
        patience=0,
        average_last=1,
        average_best=1,
        keep_last=1,
        keep_best=0,
        max_bad_steps=NEVER,
        max_epochs=None,
        consistency_after=0,
        self_distillation_after=0,
        risk=0.0,
        dropout_warmup=0,
        tensorboard=False,
    )
    return config.model_copy(update={"train": config.train.model_copy(update={**changes, **train})})
