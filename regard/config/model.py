"""The configuration of the model's shape."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from regard.config.section import Section

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
