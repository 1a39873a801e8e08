"""Trying a run: the memory of its longest batches, the speed of its steps, and what comes on top of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import Config, CorpusConfig
from regard.models.teachers import bytes_of_teachers
from regard.planning.facts import Costs, Epoch, Memory, Speed
from regard.planning.sample import take_sample, write_pairs
from regard.planning.text import Text, with_corpora
from regard.planning.trial import WARM_UP, OutOfMemory, Trial, TrialProcess, trial_config, trial_process
from regard.progress import Task, task

MEASURING_SECONDS = 12.0
"""About how long steps are measured, if they are so slow that all that were asked for would take longer."""
FEWEST_STEPS = 3
PATIENCE_SECONDS = 40.0
"""About how long all trials may take; where steps are slower than that, smaller batches are measured."""
PROBE_TOKENS = 1024
SMALL = 4
"""The first trial is of a batch of so many tokens, or of this fraction of the size: two points make a line."""
SMALLEST_BATCH = 8
VALIDATION_PAIRS = 200
INTERPRETER_BYTES = 300e6
"""About what Python and torch hold before there is a model."""


@dataclass(frozen=True)
class Tried:
    """What trials showed; without speed and costs, no batch was small enough for the memory."""

    memory: Memory
    killed_at: int | None = None
    speed: Speed | None = None
    costs: Costs | None = None


def state_bytes(config: Config, parameters: int) -> float:
    """Weights, their gradients, two means of the optimiser, and the moving average, in 32 bits; those of teachers."""
    return 4.0 * parameters * (5 if config.train.ema else 4) + bytes_of_teachers(config)


@dataclass(frozen=True)
class Trying:
    """Trials of one run."""

    config: Config
    text: Text
    epoch: Epoch
    parameters: int
    processes: int
    threads: int
    steps: int
    memory: float | None
    """Bytes that the run may take; None if nobody knows."""
    folder: Path

    def run(self) -> Tried:
        """Try smaller and smaller batches until one can be measured, in fewer processes if need be."""
        least = Memory(INTERPRETER_BYTES + state_bytes(self.config, self.parameters), 0.0)
        if self.processes > 1 and not self._fits(least, SMALLEST_BATCH):
            return replace(self, processes=self.processes // 2).run()
        killed_at, most = None, self.config.train.batch_tokens
        while most >= SMALLEST_BATCH and self._fits(least, most):
            try:
                with task("trying steps of the run", 4) as work, trial_process() as process:
                    return self._in_a_folder(most)._measured(process, least, most, killed_at, work)
            except OutOfMemory:
                killed_at, most = most, most // SMALL
        return Tried(least, killed_at)

    def _in_a_folder(self, most: int) -> Trying:
        folder = self.folder / f"batch-{most}"
        folder.mkdir()
        return replace(self, folder=folder)

    def _measured(self, process: TrialProcess, least: Memory, most: int, killed_at: int | None, work: Task) -> Tried:
        small = max(min(most // SMALL, PROBE_TOKENS), SMALLEST_BATCH)
        first = second = self._longest(process, small)
        work.advance(1, "a small batch is measured")
        memory = Memory.through((0, min(least.fixed, first.peak)), (small, first.peak), first.files)
        batch = self._affordable(memory, most, small, first.seconds[-1])
        if batch > small:
            second = self._longest(process, batch)
            memory = Memory.through((small, first.peak), (batch, second.peak), second.files)
        work.advance(1, "the longest batch is measured")
        speed, trial = self._steps(process, batch, second.seconds[-1])
        work.advance(1, "steps are measured")
        costs = self._costs(process)
        work.advance(1, "validation and checkpoint are measured")
        return Tried(memory.raised(batch, trial.peak), killed_at, speed, costs)

    def _affordable(self, memory: Memory, most: int, small: int, seconds: float) -> int:
        """The largest part of `most` for which there is memory, and time for two trials, going by a small one."""
        batches = 2 + WARM_UP + FEWEST_STEPS
        in_time = small * PATIENCE_SECONDS / (batches * max(seconds, 1e-3))
        parts = (most // part for part in range(1, most // small + 1))
        return next((batch for batch in parts if batch <= in_time and self._fits(memory, batch)), small)

    def _fits(self, memory: Memory, batch: int) -> bool:
        return self.memory is None or memory.needed(batch, self.processes) <= self.memory

    def _longest(self, process: TrialProcess, batch: int) -> Trial:
        """Two steps of one process, with a batch full of the longest pair."""
        run = self._new_run(f"longest-{batch}")
        pairs = self.folder / f"longest-{batch}.jsonl"
        write_pairs(pairs, [self.text.longest_pair()] * max(1, batch // self.epoch.longest))
        settings = dict(batch_tokens=batch, accumulate=1, processes=1, threads=self.threads, max_steps=2)
        corpora = (CorpusConfig(pairs=str(pairs)),)
        return process.train(trial_config(with_corpora(self.config, corpora), **settings), run)

    def _steps(self, process: TrialProcess, batch: int, seconds: float) -> tuple[Speed, Trial]:
        """Steps as the run makes them, with as many batches each as there is time for.

        Where teachers are asked once, these steps do without them, which takes about as long.
        """
        accumulate = self.config.train.accumulate * max(1, self.config.train.batch_tokens // batch)
        seconds_a_batch = max(seconds, 1e-3) / self.processes
        if accumulate * seconds_a_batch * (FEWEST_STEPS + WARM_UP) > MEASURING_SECONDS:
            accumulate = 1
        affordable = int(MEASURING_SECONDS / (accumulate * seconds_a_batch))
        steps = min(self.steps, max(FEWEST_STEPS, affordable))
        run = self._new_run("steps")
        (run / "prepared").symlink_to(self.text.home.resolve())
        settings: dict[str, Any] = {"teachers": ()} if self.config.train.asks_once else {}
        settings |= dict(batch_tokens=batch, accumulate=accumulate, processes=self.processes, max_steps=steps + WARM_UP)
        trial = process.train(trial_config(with_corpora(self.config, self.text.sample.corpora), **settings), run)
        return Speed(trial.speed, len(trial.speeds), batch, accumulate, self.processes), trial

    def _costs(self, process: TrialProcess) -> Costs:
        prepared = sum(path.stat().st_size for path in self.text.home.rglob("*") if path.is_file())
        config, pairs = self._validation()
        figures = process.judge(config, self.folder / "steps")
        return Costs(
            self.text.seconds * self.text.factor,
            validation_seconds(figures, self.config.train.validation_sentences, *pairs) if pairs[1] else None,
            figures["checkpoint_seconds"],
            figures["checkpoint_bytes"],
            round(prepared * self.text.factor),
            *self._asking(process),
            making_seconds=self._making(process),
        )

    def _asking(self, process: TrialProcess) -> tuple[float | None, int]:
        """The seconds and the bytes that asking teachers once takes, going by some of the pairs."""
        if not self.config.train.asks_once:
            return None, 0
        figures = process.ask(self.config, self.folder / "steps")
        tokens = (len(self.text.prepared.target.values) + len(self.text.prepared)) * self.text.factor
        return tokens * figures["seconds"] / figures["tokens"] / self.processes, round(tokens * figures["bytes"])

    def _making(self, process: TrialProcess) -> float | None:
        """The seconds that it takes to have models make a side of the text, going by some of the pairs."""
        if not self.config.data.makers:
            return None
        each = process.make(self.config, self.folder / "steps")
        return sum(seconds * self.text.sample.totals[int(number)] for number, seconds in each.items())

    def _validation(self) -> tuple[Config, tuple[int, int]]:
        """A configuration that validates on a few pairs, and how many of how many.

        A model that has learned nothing does not know when to stop, so its translations get the length of real ones.
        """
        data = self.config.data
        if not data.validation:
            return with_corpora(self.config, data.train), (0, 0)
        home = self.folder / "validation"
        home.mkdir()
        sample = take_sample(data.validation, data, home, VALIDATION_PAIRS)
        ratio = self.epoch.target_tokens / self.epoch.source_tokens
        search = self.config.search.model_copy(update={"max_length_factor": ratio, "max_length_extra": 1})
        config = self.config.model_copy(update={"search": search})
        return with_corpora(config, data.train, sample.corpora), (sample.pairs, sample.total)

    def _new_run(self, name: str) -> Path:
        run = self.folder / name
        run.mkdir()
        self.text.tokenizers.save(run)
        return run


def validation_seconds(figures: dict[str, Any], sentences: int, sampled: int, total: int) -> float:
    """What a validation on all pairs takes: the loss of all of them, and the translation of the first `sentences`."""
    loss = float(figures["loss_seconds"]) * total / sampled
    translated = min(sentences, sampled)
    return loss + float(figures["bleu_seconds"]) * (min(sentences, total) / translated if translated else 0.0)
