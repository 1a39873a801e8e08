"""The strict, typed configuration of a run: TOML and `key=value`; every default is written here, once."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A part of the configuration: frozen, typed, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


LanguageCode = Annotated[str, Field(min_length=2, max_length=16)]


class CorpusConfig(Section):
    """Where bilingual text lies: two aligned plain files, or one TSV or JSON-lines file; gzip is recognised."""

    source: str | None = Field(None, description="plain text, one sentence a line")
    target: str | None = Field(None, description="its translation, aligned by line")
    pairs: str | None = Field(None, description="one file with both sides (.tsv, .jsonl), instead of source and target")
    format: Literal["auto", "text", "tsv", "jsonl"] = Field("auto", description="how to read it; auto: by the name")
    weight: float = Field(1.0, gt=0, description="how often an epoch takes each pair: 2.0 twice, 0.5 every other time")
    epochs: int | None = Field(
        None, ge=1, description="learn from it in the first so many epochs only; none: in all of them"
    )
    languages: tuple[LanguageCode, LanguageCode] | None = Field(
        None, strict=False, description="its source and target language, where a recipe has several pairs"
    )

    @model_validator(mode="after")
    def _two_files_or_one(self) -> Self:
        two = self.source is not None and self.target is not None
        if two == (self.pairs is not None) or (self.pairs and (self.source or self.target)):
            raise ValueError("give either `source` and `target` (two aligned files) or `pairs` (one file)")
        return self


class DataConfig(Section):
    """Which text the run learns from and is measured on, and what is done with bad lines."""

    source_language: LanguageCode = Field("en", description="code of the source language")
    target_language: LanguageCode = Field("fr", description="code of the target language")
    tags: bool = Field(
        False, description="put a tag of the target language before every source, so that one model has several pairs"
    )
    train: tuple[CorpusConfig, ...] = Field(
        (), strict=False, description="the corpora to learn from; any number, weighted"
    )
    validation: tuple[CorpusConfig, ...] = Field((), strict=False, description="the corpora that choose the checkpoint")
    on_bad_line: Literal["error", "skip"] = Field("skip", description="what to do with a line that cannot be used")
    max_characters: int = Field(2000, ge=1, description="a longer line is a bad line")
    max_ratio: float = Field(9.0, gt=1, description="sides whose lengths differ by more are a bad pair")
    max_tokens: int = Field(256, ge=2, description="training pairs with more tokens on a side are left out")

    def pair_of(self, corpus: CorpusConfig) -> tuple[str, str]:
        """The languages of a corpus: its own, or else those of all."""
        return corpus.languages or (self.source_language, self.target_language)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of languages that are learned, the one that is meant where none is asked for first."""
        own = (self.source_language, self.target_language)
        return tuple(dict.fromkeys([own, *map(self.pair_of, self.train)]))

    def meaning(self, source_language: str, target_language: str) -> Self:
        """The same with another pair as the one that is meant; corpora keep their languages."""
        corpora = {
            name: tuple(corpus.model_copy(update={"languages": self.pair_of(corpus)}) for corpus in getattr(self, name))
            for name in ("train", "validation")
        }
        return self.model_copy(
            update={"source_language": source_language, "target_language": target_language, **corpora}
        )

    @model_validator(mode="after")
    def _something_is_left_to_learn_from(self) -> Self:
        if self.train and all(corpus.epochs for corpus in self.train):
            raise ValueError(
                "every corpus of `train` has `epochs`, so later epochs would be empty: leave it out of one"
            )
        return self

    @model_validator(mode="after")
    def _pairs_can_be_told_apart(self) -> Self:
        pairs = [self.pair_of(corpus) for corpus in (*self.train, *self.validation)]
        own = (self.source_language, self.target_language)
        if not self.tags and any(pair != own for pair in pairs):
            other = " to ".join(next(pair for pair in pairs if pair != own))
            raise ValueError(f"a corpus is {other}, not {' to '.join(own)}: set `tags` to true for several pairs")
        learned = [self.pair_of(corpus) for corpus in self.train]
        for pair in (own, *pairs) if self.tags and learned else ():
            if pair not in learned:
                raise ValueError(f"no corpus of `train` is {' to '.join(pair)}, so the model will not know this pair")
            if not re.fullmatch(r"[A-Za-z0-9_-]+", pair[1]):
                raise ValueError(f"a tag is made of the language's code, so {pair[1]!r} may have no such characters")
        return self


class TokenizerConfig(Section):
    """How text becomes tokens."""

    kind: Literal["bpe", "wordpiece", "unigram", "word", "character", "byte"] = Field(
        "bpe", description="the algorithm"
    )
    vocabulary_size: int = Field(
        8000, ge=300, le=1_000_000, description="tokens at the most, those for bytes and marks included"
    )
    shared: bool = Field(True, description="one vocabulary for both languages, or one each")
    dropout: float = Field(0.0, ge=0, lt=1, description="BPE-dropout while training: merges left out at random")
    dropout_side: Literal["both", "source", "target"] = Field("both", description="which text has BPE-dropout")
    lowercase: bool = Field(False, description="lower-case all text (decoding cannot bring the case back)")
    normalization: Literal["none", "nfc", "nfkc"] = Field("none", description="Unicode normal form of the text")


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(width=128, feed_forward=256, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3),
    "small": dict(width=256, feed_forward=1024, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.1),
    "base": dict(width=512, feed_forward=2048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
    "big": dict(width=1024, feed_forward=4096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
}


class ModelConfig(Section):
    """The architecture. A preset fills in whatever is not given."""

    architecture: Literal["transformer"] = Field("transformer", description="which model of regard/models")
    preset: Literal["tiny", "small", "base", "big"] = Field("tiny", description="sizes to start from")
    width: int = Field(128, ge=2, le=65_536, description="D, the size of every token's vector")
    feed_forward: int = Field(256, ge=1, le=1_000_000, description="the inner size of the feed-forward network")
    heads: int = Field(4, ge=1, description="H, attention heads; divides the width")
    encoder_layers: int = Field(4, ge=1, le=1000, description="encoder layers")
    decoder_layers: int = Field(4, ge=1, le=1000, description="decoder layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="on embeddings and on each sub-layer's output, as in the paper")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="on attention weights")
    activation_dropout: float = Field(0.0, ge=0, lt=1, description="inside the feed-forward network")
    word_dropout: float = Field(0.0, ge=0, lt=1, description="whole tokens whose embedding is left out, on both sides")
    norm: Literal["post", "pre"] = Field("post", description="layer norm after the residual (the paper) or before")
    activation: Literal["relu", "gelu", "swish", "gated-gelu", "swiglu"] = Field(
        "relu", description="feed-forward activation"
    )
    positions: Literal["sinusoidal", "concatenated", "learned", "rotary", "none"] = Field(
        "sinusoidal", description="how the model knows the order of tokens"
    )
    max_positions: int = Field(1024, ge=8, le=1_000_000, description="longest sequence for learned positions")
    score: Literal["scaled-dot", "dot", "general", "additive"] = Field("scaled-dot", description="attention score")
    tie: Literal["three-way", "target", "none"] = Field("three-way", description="which embeddings share weights")
    output_bias: bool = Field(False, description="a bias on the last layer's logits")
    scale_embeddings: bool = Field(True, description="multiply embeddings by the square root of the width")
    start: str | None = Field(
        None, description="a model folder whose vocabulary and weights a new run begins with (fine-tuning)"
    )
    source_vectors: str | None = Field(None, description="pretrained word vectors (word2vec text form)")
    target_vectors: str | None = Field(None, description="pretrained word vectors (word2vec text form)")

    @property
    def drops_out(self) -> bool:
        """Whether two passes over the same text differ while training."""
        return any((self.dropout, self.attention_dropout, self.activation_dropout, self.word_dropout))

    @model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, values: Any) -> Any:
        if isinstance(values, dict):
            preset = values.get("preset", cls.model_fields["preset"].default)
            if isinstance(preset, str) and preset in PRESETS:
                return {**PRESETS[preset], **values}
        return values

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"`width` ({self.width}) must be a multiple of `heads` ({self.heads})")
        if self.positions in ("sinusoidal", "concatenated") and self.width % 2:
            raise ValueError(f"`width` ({self.width}) must be even for {self.positions} positions")
        if self.positions == "rotary" and (self.width // self.heads) % 2:
            raise ValueError(f"a head's width ({self.width // self.heads}) must be even for rotary positions")
        return self


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
    distillation: float = Field(
        0.5, gt=0, le=1, description="with teachers: the share of the target that is what they say"
    )
    teacher_tokens: int = Field(
        0,
        ge=0,
        le=1000,
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


class SearchConfig(Section):
    """How a translation is found."""

    beam: int = Field(5, ge=1, le=100, description="hypotheses kept; 1: greedy")
    length_penalty: Literal["paper", "mean", "none"] = Field(
        "paper", description="paper: ((5+n)/6)^alpha (GNMT); mean: n^alpha; none: the sum of log-probabilities"
    )
    alpha: float = Field(0.6, ge=0, le=10, description="strength of the length penalty")
    coverage_penalty: float = Field(
        0.0, ge=0, description="beta of GNMT's penalty for source tokens that got little attention; 0: none"
    )
    max_length_factor: float = Field(
        2.0, gt=0, le=1000, description="longest output: factor times the source's tokens + extra"
    )
    max_length_extra: int = Field(20, ge=1, le=100_000, description="tokens added to the factor's share")
    max_length: int | None = Field(
        None, ge=1, le=100_000, description="longest output, in tokens, if the factor gives more"
    )
    min_length: int = Field(0, ge=0, le=100_000, description="shortest output, in tokens, end mark not counted")
    no_repeat_ngram: int = Field(0, ge=0, le=100, description="no n-gram of so many tokens comes twice; 0: any may")
    max_repeats: int = Field(
        0, ge=0, le=1000, description="stop an output that says the same so many times in a row; 0: never"
    )
    sampling: bool = Field(False, description="draw each token by chance instead of searching for the likeliest")
    samples: int = Field(1, ge=1, le=1000, description="outputs that sampling draws for each sentence")
    temperature: float = Field(1.0, ge=1e-3, description="of sampling: below 1 likely tokens become likelier yet")
    top_k: int = Field(0, ge=0, description="draw from so many likeliest tokens alone; 0: from all")
    top_p: float = Field(1.0, gt=0, le=1, description="draw from the fewest likeliest tokens with this share of all")
    sampling_seed: int = Field(1, ge=0, lt=2**63, description="what the chance of sampling follows from")
    mbr: bool = Field(False, description="of the beam or the samples take what is most like the others, by chrF")
    batch_tokens: int = Field(4096, ge=1, description="source tokens in a batch")
    compute: Literal["float32", "int8"] = Field(
        "float32",
        description="int8: weights and activations in bytes, faster and a little less exact (needs AVX-512 VNNI)",
    )

    @property
    def width(self) -> int:
        """How many outputs of a sentence a search looks for at once."""
        return self.samples if self.sampling else self.beam

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        if self.max_length is not None and self.min_length >= self.max_length:
            raise ValueError(
                f"`min_length` ({self.min_length}) must be below `max_length` ({self.max_length}), which counts the "
                "end mark too"
            )
        if self.max_repeats == 1:
            raise ValueError("`max_repeats` of 1 would stop every output at its first token; set it to 2 or more")
        if self.mbr and self.width < 2:
            what = "`samples`" if self.sampling else "`beam`"
            raise ValueError(f"`mbr` chooses among several outputs: set {what} to 2 or more")
        return self


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
        if self.train.teacher_tokens and self.tokenizer.dropout:
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
