"""The training loop: batches in, steps of the optimiser, validations and checkpoints out."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.config import Config
from regard.data.batches import START, Batch, Position, TrainingBatches
from regard.errors import RegardError
from regard.models.contract import SequenceToSequence
from regard.models.folder import save_weights
from regard.progress import Task, note, task
from regard.train.log import MetricsLog
from regard.train.memory import keep_freed_memory
from regard.train.meter import Meter
from regard.train.objective import batch_loss
from regard.train.optimiser import set_learning_rate
from regard.train.schedule import learning_rate
from regard.train.session import Session
from regard.train.signals import Interrupted, StopRequest, stop_request
from regard.train.validation import Validation, Validator


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    steps: int
    epochs: int
    tokens: int
    seconds: float
    validation: Validation | None
    chosen: str
    """Where the final weights come from, in words."""


class Trainer:
    """One run, from where it stands to its end."""

    def __init__(
        self,
        model: SequenceToSequence,
        batches: TrainingBatches,
        validator: Validator | None,
        config: Config,
        run: Path,
    ) -> None:
        self.model, self.batches, self.validator = model, batches, validator
        self.config, self.settings, self.run = config, config.train, run
        self.session = Session(model, config, run)
        self.log = MetricsLog(run, tensorboard=config.train.tensorboard)
        self.meter = Meter()

    def train(self) -> Outcome:
        """Learn until the run is over, and put the chosen weights into the run's folder."""
        keep_freed_memory()
        standing = self.session.resume(self.log)
        started = time.monotonic() - standing.seconds
        with stop_request() as stop, task("training", self.settings.max_steps) as work:
            work.advance(standing.step)
            for batches, epoch, position in self._groups():
                self._step(batches, epoch, position)
                standing.seconds = time.monotonic() - started
                self._report(work)
                if stop:
                    self._leave(stop)
                if standing.step % self.settings.validate_every == 0 or self._last_step():
                    self._validate_and_save(work)
                    if 0 < self.settings.patience <= standing.without_better:
                        work.note(f"no better validation in {standing.without_better}: stopping here")
                        break
                if stop:
                    self._leave(stop)
            if self.session.unsaved:
                self._validate_and_save(work)
        return self._finish()

    def _groups(self) -> Iterator[tuple[list[Batch], int, Position]]:
        """The batches of each step still to do, and the place in the data after them."""
        standing = self.session.standing
        last_epoch = self.settings.max_epochs or math.inf
        while not self._last_step() and standing.epoch < last_epoch:
            epoch, group = standing.epoch, []
            for batch, position in self.batches.epoch(epoch, standing.position):
                group.append(batch.to(self.model.device))
                if len(group) == self.settings.accumulate:
                    yield group, epoch, position
                    if self._last_step():
                        return
                    group = []
            if group:  # the rest of an epoch is a smaller step
                yield group, epoch + 1, START
            standing.epoch, standing.position = epoch + 1, START

    def _last_step(self) -> bool:
        return self.session.standing.step >= self.settings.max_steps

    def _step(self, batches: list[Batch], epoch: int, position: Position) -> None:
        """One step of the optimiser; a loss or gradient that is not finite is counted and not applied."""
        standing = self.session.standing
        step = standing.step + 1
        tokens = sum(batch.tokens for batch in batches)
        loss, likelihood = self._gradients(batches, step, tokens)
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm or math.inf, foreach=True)
        )
        if math.isfinite(loss) and math.isfinite(norm):
            rate = learning_rate(step, self.settings, self.config.model.width)
            set_learning_rate(self.session.optimiser, rate)
            self.session.optimiser.step()
            self.session.update_average()
            self.meter.add(loss, likelihood, tokens, norm, rate)
            standing.bad_in_a_row = 0
        else:
            self._bad_step(batches, step, loss, norm)
        standing.step, standing.epoch, standing.position = step, epoch, position
        standing.tokens += tokens

    def _gradients(self, batches: list[Batch], step: int, tokens: int) -> tuple[float, float]:
        """Leave the gradients of a step's mean loss in the model; give that loss and the mean -log-likelihood."""
        self.session.optimiser.zero_grad(set_to_none=True)
        self.model.train()
        smoothed = likelihood = 0.0
        for number, batch in enumerate(batches):
            self.model.randomness.begin(step, number)
            loss = batch_loss(self.model, batch, self.settings.label_smoothing)
            torch.autograd.backward(loss.smoothed / tokens)
            smoothed += loss.smoothed.item()
            likelihood += loss.negative_log_likelihood.item()
        return smoothed / tokens, likelihood / tokens

    def _bad_step(self, batches: list[Batch], step: int, loss: float, norm: float) -> None:
        standing = self.session.standing
        standing.bad_steps += 1
        standing.bad_in_a_row += 1
        pairs = [int(index) for batch in batches for index in batch.indices]
        named = ", ".join(map(str, pairs[:8])) + (", …" if len(pairs) > 8 else "")
        note(f"step {step}: loss {loss}, gradient norm {norm}: not applied (training pairs {named})")
        self.log.write(step, "bad", loss=loss, gradient_norm=norm, pairs=pairs, seconds=standing.seconds)
        if standing.bad_in_a_row >= self.settings.max_bad_steps:
            raise RegardError(
                f"stopped: {standing.bad_in_a_row} steps in a row had a loss or gradient that is not finite; "
                "lower train.learning_rate, raise train.warmup_steps, or set train.clip_norm (to 1.0, for example)"
            )

    def _report(self, work: Task) -> None:
        work.advance(1, self.meter.status)
        standing = self.session.standing
        if standing.step % self.settings.log_every == 0 and self.meter.steps:
            where = dict(epoch=standing.epoch, tokens=standing.tokens, seconds=standing.seconds)
            self.log.write(standing.step, "train", **self.meter.flush(), **where)

    def _validate_and_save(self, work: Task) -> None:
        standing = self.session.standing
        score = None
        if self.validator is not None:
            weights = self.session.judged_weights()
            validation = self.validator.judge(self.model, weights)
            score = validation.score(self.settings.choose_by)
            better = standing.note_score(score)
            if better:
                save_weights(self.run, weights)
            self.log.write(standing.step, "validation", **validation.metrics(), seconds=standing.seconds)
            work.note(f"step {standing.step:,}: validation {validation.line()}{' (best so far)' if better else ''}")
        self.session.save(score)
        self.meter.pause()

    def _leave(self, stop: StopRequest) -> None:
        if self.session.unsaved:
            self.session.save(score=None)
        self.log.close()
        step = self.session.standing.step
        raise Interrupted(stop.number, f"stopped and saved at step {step:,}; the same command goes on from there")

    def _finish(self) -> Outcome:
        """Choose the final weights: the best checkpoint, or the mean of the last ones where that is no worse."""
        chosen, weights = self.session.best_weights()
        validation = self._judge(weights)
        if self.settings.average_last > 1:
            count, mean = self.session.mean_weights()
            of_mean = self._judge(mean)
            if of_mean is None or validation is None or self._score(of_mean) <= self._score(validation):
                chosen, weights, validation = f"the mean of the last {count} checkpoints", mean, of_mean
        save_weights(self.run, weights)
        self.log.close()
        standing = self.session.standing
        return Outcome(standing.step, standing.epoch, standing.tokens, standing.seconds, validation, chosen)

    def _judge(self, weights: dict[str, Tensor]) -> Validation | None:
        return self.validator.judge(self.model, weights) if self.validator is not None else None

    def _score(self, validation: Validation) -> float:
        return validation.score(self.settings.choose_by)
