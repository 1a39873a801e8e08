"""The `config.json` of a Hugging Face model, as far as regard reads it: checked, bounded, and translated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from regard.errors import ModelFolderError
from regard.untrusted import MIB, read_json, refuse_code

_FAMILIES = ("marian", "pegasus", "m2m_100")
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}


class RegardSection(BaseModel):
    """What our own export adds: nothing that a model computes with depends on it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    positions: Literal["sinusoidal", "concatenated", "learned"] = "concatenated"
    output_bias: bool = False
    source_language: str = Field("", max_length=16)
    target_language: str = Field("", max_length=16)
    search: dict[str, bool | int | float | str] = Field(default_factory=dict, max_length=40)
    sizes: list[int] = Field(default_factory=list, max_length=2)


class HuggingFaceConfig(BaseModel):
    """The part of a configuration that decides what a model computes; the rest is left alone."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    model_type: Literal["marian", "pegasus", "m2m_100"]
    vocab_size: int = Field(ge=4, le=2_000_000)
    decoder_vocab_size: int | None = Field(None, ge=4, le=2_000_000)
    d_model: int = Field(ge=4, le=65_536)
    encoder_layers: int = Field(ge=1, le=1000)
    decoder_layers: int = Field(ge=1, le=1000)
    encoder_attention_heads: int = Field(ge=1, le=65_536)
    decoder_attention_heads: int = Field(ge=1, le=65_536)
    encoder_ffn_dim: int = Field(ge=1, le=1_000_000)
    decoder_ffn_dim: int = Field(ge=1, le=1_000_000)
    activation_function: Literal["relu", "gelu", "swish", "silu"]
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    activation_dropout: float = Field(0.0, ge=0, lt=1)
    scale_embedding: bool = False
    max_position_embeddings: int = Field(1024, ge=8, le=65_536)
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    pad_token_id: int = Field(ge=0, le=2_000_000)
    eos_token_id: int = Field(ge=0, le=2_000_000)
    decoder_start_token_id: int = Field(ge=0, le=2_000_000)
    forced_bos_token_id: int | None = None
    regard: RegardSection | None = None

    @model_validator(mode="after")
    def _sides_agree(self) -> Self:
        for part in ("attention_heads", "ffn_dim"):
            sides = getattr(self, f"encoder_{part}"), getattr(self, f"decoder_{part}")
            if sides[0] != sides[1]:
                raise ValueError(f"encoder_{part} is {sides[0]} and decoder_{part} {sides[1]}; regard has one for both")
        if self.d_model % self.encoder_attention_heads or self.d_model % 2:
            raise ValueError(f"d_model {self.d_model} must be even and a multiple of its heads")
        if self.forced_bos_token_id is not None:
            raise ValueError("forced_bos_token_id chooses among many target languages, which regard has no form for")
        for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
            if getattr(self, name) >= self.target_size:
                raise ValueError(f"{name} is {getattr(self, name)}, outside the vocabulary of {self.target_size}")
        return self

    @property
    def separate(self) -> bool:
        """Whether source and target have vocabularies of their own."""
        return self.model_type == "marian" and not self.share_encoder_decoder_embeddings

    @property
    def target_size(self) -> int:
        return self.decoder_vocab_size or self.vocab_size if self.separate else self.vocab_size

    @property
    def positions(self) -> str:
        """The name of its positions here; M2M100's waves become learned vectors."""
        if self.model_type == "m2m_100":
            return "learned"
        sinusoidal = self.regard is not None and self.regard.positions == "sinusoidal"
        return "sinusoidal" if sinusoidal else "concatenated"


def read_huggingface_config(folder: Path) -> HuggingFaceConfig:
    """Read and check the `config.json` of a folder; a model of another kind is refused by name."""
    path = folder / "config.json"
    document = read_json(path, 4 * MIB)
    refuse_code(document, path)
    kind = document.get("model_type")
    if kind not in _FAMILIES:
        raise ModelFolderError(f"{path}: `model_type` is {kind!r}; regard reads {', '.join(_FAMILIES)}")
    document.setdefault("scale_embedding", kind == "m2m_100")
    try:
        return HuggingFaceConfig.model_validate(document)
    except ValidationError as error:
        detail = error.errors()[0]
        name = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        raise ModelFolderError(f"{path}: {f'`{name}`: ' if name else ''}{message}") from None


def read_generation(folder: Path) -> dict[str, Any]:
    """What `generation_config.json` says of beams: our keys of `[search]`."""
    path = folder / "generation_config.json"
    if not path.exists():
        return {}
    document = read_json(path, 4 * MIB)
    refuse_code(document, path)
    if document.get("forced_bos_token_id") is not None:
        raise ModelFolderError(f"{path}: `forced_bos_token_id` chooses a language, which regard has no form for")
    found: dict[str, Any] = {}
    beams, penalty = document.get("num_beams"), document.get("length_penalty")
    if type(beams) is int and 1 <= beams <= 100:
        found["beam"] = beams
    if isinstance(penalty, int | float) and 0 <= penalty <= 10:
        found |= {"length_penalty": "mean", "alpha": float(penalty)}  # transformers divides by n^penalty, as `mean`
    return found
