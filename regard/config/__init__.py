"""The strict, typed configuration of a run: TOML and `key=value`; every default is written here, once."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from regard.config.data import CorpusConfig, DataConfig
from regard.config.model import PRESETS, ModelConfig
from regard.config.search import SearchConfig
from regard.config.section import Section
from regard.config.tokenizer import TokenizerConfig
from regard.config.train import TrainConfig
from regard.errors import ConfigError

__all__ = [
    "PRESETS",
    "Config",
    "CorpusConfig",
    "DataConfig",
    "ModelConfig",
    "SearchConfig",
    "Section",
    "TokenizerConfig",
    "TrainConfig",
]


class Config(Section):
    """A whole run."""

    seed: int = Field(1, ge=0, lt=2**63, description="what all chance in a run follows from")
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()

    @property
    def vocabulary_of(self) -> str | None:
        """The model folder whose vocabulary a new run takes, where it does not learn one of its own."""
        return self.model.start or next(iter(self.train.teachers), None)

    def turned(self) -> Self:
        """The same run for the other direction."""
        for key, is_set in (
            ("model.start", self.model.start),
            ("train.teachers", self.train.teachers),
            ("target_by` or `source_by", self.data.makers),
        ):
            if is_set:
                raise ConfigError(
                    f"it names models of one direction (`{key}`), so it cannot be turned into the other: train the "
                    "model of the other direction by a recipe of its own"
                )
        vectors = {"source_vectors": self.model.target_vectors, "target_vectors": self.model.source_vectors}
        other = {"both": "both", "source": "target", "target": "source"}[self.tokenizer.dropout_side]
        return self.model_copy(
            update={
                "data": self.data.turned(),
                "model": self.model.model_copy(update=vectors),
                "tokenizer": self.tokenizer.model_copy(update={"dropout_side": other}),
            }
        )

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if not self.tokenizer.shared and self.model.tie == "three-way":
            raise ValueError(
                '`model.tie = "three-way"` needs `tokenizer.shared = true`; with separate vocabularies use "target"'
            )
        if self.train.weight_decay and self.train.optimiser == "adam":
            raise ValueError('`train.weight_decay` works for optimiser "adamw" or "muon", not "adam"')
        if self.train.decay_steps and self.train.schedule != "warmup-stable-decay":
            raise ValueError('`train.decay_steps` has a meaning for schedule "warmup-stable-decay" alone')
        if self.train.consistency and not self.model.drops_out:
            raise ValueError(
                "`train.consistency` compares passes that differ by dropout alone: set `model.dropout` > 0"
            )
        if self.train.self_distillation and not self.train.ema:
            raise ValueError(
                "`train.self_distillation` learns from the moving average of the weights: set `train.ema` (to 0.998, "
                "for example)"
            )
        if self.train.self_distillation and self.train.consistency:
            raise ValueError(
                "`train.self_distillation` and `train.consistency` do not go together: set one of them to 0"
            )
        if self.train.self_distillation and self.train.shard:
            raise ValueError("`train.self_distillation` needs whole weights in each process: leave `train.shard` false")
        for other in ("consistency", "self_distillation", "shard"):
            if self.train.teachers and getattr(self.train, other):
                raise ValueError(f"`train.teachers` and `train.{other}` do not go together: leave one of them out")
        if self.train.teacher_recipe and not (self.train.teachers or self.data.makers):
            raise ValueError(
                "`train.teacher_recipe` trains the models of `train.teachers` and those that make text (`target_by`, "
                "`source_by`), and there are none: name their folders"
            )
        if self.train.asks_once and self.tokenizer.dropout:
            raise ValueError(
                "`train.teacher_tokens` keeps what teachers say of the text's tokens, and `tokenizer.dropout` makes "
                "others each time: set one of them to 0"
            )
        if self.train.risk and self.train.shard:
            raise ValueError("`train.risk` searches with whole weights in each process: leave `train.shard` false")
        if self.train.choose_by == "bleu" and not self.train.validation_sentences:
            raise ValueError('`train.choose_by = "bleu"` needs translations: set `train.validation_sentences` > 0')
        if self.train.shard and self.train.optimiser == "muon":
            raise ValueError('`train.shard` works for optimisers "adam" and "adamw": Muon needs whole matrices')
        if self.tokenizer.dropout and self.tokenizer.kind != "bpe":
            raise ValueError(f'`tokenizer.dropout` works for kind "bpe", not "{self.tokenizer.kind}"')
        return self
