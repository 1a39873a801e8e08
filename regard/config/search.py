"""The configuration of the search for a translation."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from regard.config.section import Section


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
