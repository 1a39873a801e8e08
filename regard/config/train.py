"""The configuration of training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.config.section import Section


class TrainConfig(Section):
    """How the model learns."""

    max_steps: int = Field(8000, ge=1, description="optimiser steps")
    max_epochs: int | None = Field(None, ge=1, description="stop after so many passes over the data, if sooner")
    batch_tokens: int = Field(4096, ge=8, description="tokens in a batch: rows times the longer padded side")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are added before a step")
    optimiser: Literal["adam", "adamw", "muon"] = Field("adam", description="how gradients become steps")
    learning_rate: float = Field(5e-3, gt=0, description="the peak; for schedule `paper`, a factor on its formula")
    beta1: float = Field(0.9, ge=0, lt=1, description="decay of Adam's mean of gradients")
    beta2: float = Field(0.98, ge=0, lt=1, description="decay of Adam's mean of squared gradients")
    epsilon: float = Field(1e-9, gt=0, description="what Adam adds to the divisor")
    weight_decay: float = Field(
        0.0,
        ge=0,
        description="for adamw and muon: times the learning rate, the share of a weight that a step takes away",
    )
    muon_learning_rate: float = Field(
        0.01, gt=0, description="for muon: the peak for hidden matrices; all else follows `learning_rate`"
    )
    muon_momentum: float = Field(0.95, ge=0, lt=1, description="for muon: decay of the mean of gradients")
    schedule: Literal["paper", "inverse-square-root", "cosine", "linear", "constant", "warmup-stable-decay"] = Field(
        "inverse-square-root", description="how the learning rate changes with the step"
    )
    warmup_steps: int = Field(2000, ge=0, description="steps of rising learning rate")
    decay_steps: int = Field(
        0, ge=0, description="for warmup-stable-decay: the last steps, in which the rate falls to 0; 0: a fifth of all"
    )
    clip_norm: float = Field(0.0, ge=0, description="clip the gradient's norm; 0: leave it")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="share of the target spread over all tokens")
    consistency: float = Field(
        0.0, ge=0, description="R-Drop: weight of the divergence of two passes with dropout of their own; 0: one pass"
    )
    consistency_after: int = Field(0, ge=0, description="steps of one pass before those of two")
    self_distillation: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the target that is what the moving average of the weights (`ema`) says; 0: none",
    )
    self_distillation_after: int = Field(0, ge=0, description="steps before the moving average begins to teach")
    teachers: tuple[str, ...] = Field(
        (), strict=False, description="model folders that teach, by what they say of every token; several: their mean"
    )
    teacher_recipe: str = Field(
        "",
        description="the recipe of teachers, and of models that make text, which are not there yet: they are trained "
        "first, the first with seed 1 and so on; empty: they must be there",
    )
    distillation: float = Field(
        0.5, gt=0, le=1, description="with teachers: the share of the target that is what they say"
    )
    teacher_tokens: int = Field(
        0,
        ge=0,
        le=512,
        description="with teachers: ask them once, and keep so many of the likeliest tokens; 0: ask at every step",
    )
    risk: float = Field(
        0.0, ge=0, description="minimum risk training: weight of the expected cost of likely translations; 0: none"
    )
    risk_after: int = Field(0, ge=0, description="steps before the risk counts")
    risk_candidates: int = Field(
        8, ge=2, le=100, description="likely translations of a sentence, found by beam search, that the risk is over"
    )
    dropout_warmup: int = Field(
        0, ge=0, description="steps in which all dropout rises from 0: early on it slows learning down"
    )
    ema: float = Field(0.0, ge=0, lt=1, description="decay of the exponential moving average of weights; 0: none")
    average_last: int = Field(
        1, ge=1, description="the final model is the mean of so many last checkpoints, if that is no worse"
    )
    average_best: int = Field(1, ge=1, description="or of so many best ones, if that is no worse")
    validate_every: int = Field(500, ge=1, description="steps between validations (and checkpoints)")
    validation_sentences: int = Field(500, ge=0, description="sentences translated for validation BLEU; 0: loss only")
    patience: int = Field(0, ge=0, description="stop after so many validations without a better one; 0: never")
    choose_by: Literal["loss", "bleu"] = Field("loss", description="what makes a validation better")
    keep_last: int = Field(2, ge=1, description="newest checkpoints to keep")
    keep_best: int = Field(1, ge=0, description="best checkpoints to keep; the very best is kept in any case")
    max_bad_steps: int = Field(10, ge=1, description="stop after so many steps in a row whose loss is not finite")
    log_every: int = Field(50, ge=1, description="steps between lines of the log")
    threads: int = Field(0, ge=0, le=512, description="CPU threads; 0: as many as there are cores")
    processes: int = Field(
        0,
        ge=0,
        le=512,
        description="processes that share each batch; 0: one a core, on a CPU and for batches that are worth it",
    )
    shard: bool = Field(
        False,
        description="share out weights, gradients and optimiser among the processes, where one cannot hold them all",
    )
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field(
        "auto",
        description="of matrix products; auto: fp32 on a CPU, else bf16, or fp16 where the device has no bf16",
    )
    tensorboard: bool = Field(False, description="also write TensorBoard events (needs the extra `track`)")

    @property
    def steps_of_one_pass(self) -> int:
        """How many steps come before the first that compares two passes: of the model, or of it and its teacher."""
        if self.teachers:
            return 0
        later = self.consistency_after if self.consistency else self.self_distillation_after
        return min(later, self.max_steps) if self.consistency or self.self_distillation else self.max_steps

    @property
    def asks_once(self) -> bool:
        """Whether there are teachers, and they are asked before training."""
        return bool(self.teachers and self.teacher_tokens)

    @property
    def taught_share(self) -> float:
        """The share of the target that a teacher says, be it other models or the moving average."""
        return self.distillation if self.teachers else self.self_distillation

    @property
    def compared(self) -> str:
        """What the divergence of a step is called, where there is one."""
        if self.teachers:
            return "distillation"
        return "self_distillation" if self.self_distillation else "consistency"

    @property
    def kept_checkpoints(self) -> tuple[int, int]:
        """How many of the newest and how many of the best are kept, those for means among them."""
        return max(self.keep_last, self.average_last), max(1, self.keep_best, self.average_best)
