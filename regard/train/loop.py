"""The training loop: batches in, steps of the optimiser, validations and checkpoints out."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext
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
from regard.train.meter import Meter, StepLosses
from regard.train.objective import Objective
from regard.train.optimiser import set_learning_rate, step_costs
from regard.train.passes import Passes
from regard.train.precision import Precision
from regard.train.risk import FindCandidates
from regard.train.sayings import Sayings, Teacher
from regard.train.schedule import dropout_share, learning_rate
from regard.train.self_distillation import averaged_model
from regard.train.session import Session
from regard.train.signals import Interrupted, StopRequest
from regard.train.standing import Standing
from regard.train.team import Team
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
        team: Team | None = None,
        precision: Precision | None = None,
        find_candidates: FindCandidates | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        self.model, self.batches, self.validator = model, batches, validator
        self.team = team or Team()
        self.precision = precision or Precision()
        self.config, self.settings, self.run = config, config.train, run
        self.judged = self.team.judged(model)
        settings = config.train
        weights = (settings.consistency, settings.taught_share, settings.risk)
        objective = Objective(model, settings.label_smoothing, *weights)
        self.objective = self.team.share(objective, self.precision.dtype, step_costs(model, config.train))
        self.session = Session(model, config, run, self.team)
        average = self.session.average
        if average is not None and settings.self_distillation:
            teacher = averaged_model(model, average)
        self.asking_seconds = teacher.seconds if isinstance(teacher, Sayings) else 0.0
        self.passes = Passes(model, settings, self.team, teacher, find_candidates)
        self.log = MetricsLog(run, tensorboard=config.train.tensorboard)
        self.meter = Meter(settings.compared)

    def train(self, stop: StopRequest) -> Outcome:
        """Learn until the run is over, and put the chosen weights into the run's folder."""
        standing = self._resume()
        standing.seconds += self.asking_seconds
        keep_freed_memory()
        started = time.monotonic() - standing.seconds
        with stop.later(), task("training", self.settings.max_steps, standing.step) as work:
            if self._due():  # the run was stopped before it
                self._validate_and_save(work, stop)
            for batches, epoch, position in self._groups():
                asked = self._step(batches, epoch, position, stop)
                standing.seconds = time.monotonic() - started
                self._report(work)
                if asked:
                    self._save_and_leave(asked)
                if self._due():
                    self._validate_and_save(work, stop)
            if self.session.unsaved:
                self._validate_and_save(work, stop)
        return self._finish(stop)

    def _resume(self) -> Standing:
        """Go on from the newest good checkpoint, which all processes read."""
        checkpoint = self.session.resume()
        self.precision.restore(self.session.standing.scaling)
        if self.team.leads:
            self.log.resume(self.session.standing.step)
            if checkpoint is not None:
                self.session.store.tidy(checkpoint)
                note(f"going on from step {checkpoint.step:,} ({checkpoint.path})")
        return self.session.standing

    def _groups(self) -> Iterator[tuple[list[Batch], int, Position]]:
        """The batches of each step still to do, and the place in the data after them."""
        standing = self.session.standing
        last_epoch = self.settings.max_epochs or math.inf
        while not self._over() and standing.epoch < last_epoch:
            epoch, group = standing.epoch, []
            for batch, position in self.batches.epoch(epoch, standing.position):
                group.append(batch.to(self.model.device, non_blocking=True))
                if len(group) == self.settings.accumulate:
                    yield group, epoch, position
                    if self._over():
                        return
                    group = []
            if group:  # the rest of an epoch is a smaller step
                yield group, epoch + 1, START
            standing.epoch, standing.position = epoch + 1, START

    def _over(self) -> bool:
        return self._last_step() or 0 < self.settings.patience <= self.session.standing.without_better

    def _last_step(self) -> bool:
        return self.session.standing.step >= self.settings.max_steps

    def _due(self) -> bool:
        """Whether this step is one to validate and save."""
        on_schedule = self.session.standing.step % self.settings.validate_every == 0
        return self.session.unsaved and (on_schedule or self._last_step())

    def _step(self, batches: list[Batch], epoch: int, position: Position, stop: StopRequest) -> int:
        """One step of the optimiser; a loss or gradient that is not finite is counted and not applied.

        Gives the number of the signal by which any of the processes was asked to stop, or 0.
        """
        standing = self.session.standing
        step = standing.step + 1
        losses, asked = self._gradients(batches, step, stop)
        self.precision.unscale(self.session.optimiser)
        norm = self._scale_and_clip(1 / losses.tokens)
        scaled_too_far = self.precision.adapt()
        if losses.finite and math.isfinite(norm):
            rate = learning_rate(step, self.settings, self.config.model.width)
            set_learning_rate(self.session.optimiser, rate)
            with self.precision.stepping():
                self.session.optimiser.step()
            self.team.settle()
            self.session.update_average()
            self.meter.add(losses, norm, rate)
            standing.bad_in_a_row = 0
        elif losses.finite and scaled_too_far:
            self._overflow(step)
        else:
            self._bad_step(batches, step, losses.loss, norm)
        standing.step, standing.epoch, standing.position = step, epoch, position
        standing.tokens += losses.tokens
        return asked

    def _gradients(self, batches: list[Batch], step: int, stop: StopRequest) -> tuple[StepLosses, int]:
        """Leave the gradients of a step's summed loss in the model; agree on mean losses and on a request to stop."""
        self.session.optimiser.zero_grad(set_to_none=True)
        self.model.train()
        self.model.randomness.share = dropout_share(step, self.settings)
        smoothed = likelihood = divergence = 0.0
        passes, risk = self.passes.of(batches, step)
        for number, one in enumerate(passes, start=1):
            batch = one.batch
            self.model.randomness.begin(*one.key, first_row=batch.first_row, rows_in_all=batch.rows_in_all)
            with nullcontext() if number == len(passes) else self.team.apart(self.objective):
                with self.precision.autocast():
                    loss = self.objective(batch, one.teacher, one.weights)
                self.precision.backward(loss.total)
            smoothed += loss.smoothed.item()
            likelihood += loss.negative_log_likelihood.item()
            divergence += loss.divergence.item() if loss.divergence is not None else 0.0
        counted = sum(batch.tokens for batch in batches)
        tokens, stops, *sums = self.team.agree([counted, bool(stop), smoothed, likelihood, divergence, risk])
        means = [value / tokens for value in sums]
        compared, weighed = self.passes.compares(step), self.passes.weighs_risk(step)
        losses = StepLosses(
            int(tokens), means[0], means[1], means[2] if compared else None, means[3] if weighed else None
        )
        return losses, (stop.number or signal.SIGTERM) if stops else 0

    def _scale_and_clip(self, scale: float) -> float:
        """Turn the summed gradients into those of the mean, clip them, and give their norm before that.

        The engine has averaged over the processes, where a sum was wanted.
        """
        scale *= self.team.divided_by
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        norm = scale * self.team.norm(gradients)
        if 0 < self.settings.clip_norm < norm:
            scale *= self.settings.clip_norm / norm
        if gradients:
            torch._foreach_mul_(gradients, scale)
        return norm

    def _overflow(self, step: int) -> None:
        """A gradient was too large for float16 only because it was scaled: no fault of the data, so no bad step."""
        if self.team.leads:
            seconds = self.session.standing.seconds
            self.log.write(step, "overflow", next_scale=self.precision.scale, seconds=seconds)

    def _bad_step(self, batches: list[Batch], step: int, loss: float, norm: float) -> None:
        """Count a step that is not applied, and name the pairs that all processes had in it."""
        standing = self.session.standing
        standing.bad_steps += 1
        standing.bad_in_a_row += 1
        own = [int(index) for batch in batches for index in batch.indices]
        pairs = [int(index) for share in self.team.gathered(own) for index in share]
        named = ", ".join(map(str, pairs[:8])) + (", …" if len(pairs) > 8 else "")
        note(f"step {step}: loss {loss}, gradient norm {norm}: not applied (training pairs {named})")
        if self.team.leads:
            self.log.write(step, "bad", loss=loss, gradient_norm=norm, pairs=pairs, seconds=standing.seconds)
        if standing.bad_in_a_row >= self.settings.max_bad_steps:
            raise RegardError(
                f"stopped: {standing.bad_in_a_row} steps in a row had a loss or gradient that is not finite; "
                "lower train.learning_rate, raise train.warmup_steps, or set train.clip_norm (to 1.0, for example)"
            )

    def _report(self, work: Task) -> None:
        work.advance(1, self.meter.status)
        standing = self.session.standing
        if self.team.leads and standing.step % self.settings.log_every == 0 and self.meter.steps:
            where = dict(epoch=standing.epoch, tokens=standing.tokens, seconds=standing.seconds)
            self.log.write(standing.step, "train", **self.meter.flush(), **where)

    def _validate_and_save(self, work: Task, stop: StopRequest) -> None:
        """Judge, choose and save in the leading process, which tells the others what it found."""
        before, standing = time.monotonic(), self.session.standing
        weights = self.session.judged_weights()
        score, cut_short = self._validate(weights, work, stop) if self.team.leads else (None, False)
        if not cut_short:  # it will not be done again, so a run that goes on from here must have counted it
            standing.seconds += time.monotonic() - before
        self._save(score, interim=bool(self.team.told([cut_short])[0]))
        standing.without_better, asked = map(int, self.team.told([standing.without_better, stop.number or 0]))
        self.meter.leave_out(time.monotonic() - before)
        if asked:
            self._leave(asked, f"stopped and saved at step {standing.step:,}; the same command goes on from there")
        if self._over() and not self._last_step():
            work.note(f"no better validation in {standing.without_better}: stopping here")

    def _validate(self, weights: dict[str, Tensor], work: Task, stop: StopRequest) -> tuple[float | None, bool]:
        """The score of these weights, and whether somebody asked to stop before it was known."""
        if self.validator is None:
            return None, False
        try:
            validation = self.validator.judge(self.judged, weights, stop.at_once)
        except Interrupted:  # the run will judge this step when it goes on
            return None, True
        standing, score = self.session.standing, self._score(validation)
        better = standing.note_score(score)
        if better:
            save_weights(self.run, weights)
        self.log.write(standing.step, "validation", **validation.metrics(), seconds=standing.seconds)
        work.note(f"step {standing.step:,}: validation {validation.line()}{' (best so far)' if better else ''}")
        return score, False

    def _save(self, score: float | None = None, interim: bool = False) -> None:
        self.session.standing.scaling = self.precision.state()
        self.session.save(score, interim)

    def _save_and_leave(self, number: int) -> None:
        self._save(interim=True)
        step = self.session.standing.step
        self._leave(number, f"stopped and saved at step {step:,}; the same command goes on from there")

    def _leave(self, number: int, message: str) -> None:
        self.log.close()
        self.team.meet()
        self.team.part_ways()
        raise Interrupted(number, message)

    def _finish(self, stop: StopRequest) -> Outcome:
        validation, chosen, asked = None, "", 0
        newest = self.session.judged_weights()
        if self.team.leads:
            try:
                with stop.at_once():
                    validation, chosen = self._choose(newest)
            except Interrupted:
                asked = stop.number or 0
        asked = int(self.team.told([asked])[0])
        standing = self.session.standing
        if asked:
            self._leave(asked, f"stopped after step {standing.step:,}, the last; the same command finishes the run")
        self.log.close()
        self.team.meet()
        return Outcome(standing.step, standing.epoch, standing.tokens, standing.seconds, validation, chosen)

    def _choose(self, newest: dict[str, Tensor]) -> tuple[Validation | None, str]:
        """Put the final weights in place: the best checkpoint, or a mean of several where that is no worse."""
        chosen, weights = self.session.best_weights(newest)
        validation = self._judge(weights)
        for words, mean in self.session.mean_weights():
            of_mean = self._judge(mean)
            if of_mean is None or validation is None or self._score(of_mean) <= self._score(validation):
                chosen, weights, validation = words, mean, of_mean
        save_weights(self.run, weights)
        return validation, chosen

    def _judge(self, weights: dict[str, Tensor]) -> Validation | None:
        return self.validator.judge(self.judged, weights) if self.validator is not None else None

    def _score(self, validation: Validation) -> float:
        return validation.score(self.settings.choose_by)
