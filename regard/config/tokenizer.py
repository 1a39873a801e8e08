"""The configuration of the tokenizer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.config.section import Section


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
