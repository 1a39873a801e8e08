"""What an explanation is, as types; docs/explanations.md says what its parts mean."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Probability = Annotated[float, Field(ge=0, le=1)]
LogProbability = Annotated[float, Field(le=0)]


class Part(BaseModel):
    """A part of an explanation: it has these fields, and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Array(Part):
    """Numbers, packed: each is minimum + u / 65535 · (maximum - minimum)."""

    shape: list[int]
    minimum: float
    maximum: float
    uint16: str = Field(description="the u, little-endian, the last index fastest, in base64")


class ExplainedModel(Part):
    """Which model it is."""

    name: str
    source_language: str
    target_language: str
    encoder_layers: int
    decoder_layers: int
    heads: int
    width: int
    parameters: int
    positions: str


class ExplainedWord(Part):
    """A whole word: tokens `start` to `stop` (not included) spell it."""

    text: str
    start: int
    stop: int


class ExplainedSource(Part):
    """The source as the model reads it, its end mark included."""

    text: str
    tokens: list[str]
    words: list[ExplainedWord]


class ExplainedTarget(ExplainedSource):
    """The target as it is predicted, its end mark included."""

    read: list[str] = Field(description="what the decoder reads at each step: the target, one token later")
    forced: bool = Field(description="whether it was given; otherwise it is the model's own")
    finished: bool = Field(
        description="whether the model ended it, and not the limit of its length or the guard against loops"
    )


class AttentionArrays(Part):
    """Attention weights, [layers, heads, queries, keys]."""

    encoder: Array
    decoder: Array
    cross: Array


class Candidate(Part):
    """A token that might have come."""

    token: str
    probability: Probability


class ExplainedStep(Part):
    """A token of the target, given all before it."""

    token: str
    log_probability: LogProbability
    rank: int = Field(ge=1)
    entropy: float = Field(description="in nats")
    candidates: list[Candidate] = Field(description="the likeliest, best first")


class BeamNode(Part):
    """A hypothesis on its way: what came before it is its parent."""

    parent: int = Field(ge=-1)
    step: int
    token: str
    log_probability: LogProbability
    kept: bool
    finished: bool
    best: bool


class Beam(Part):
    """The beam search as a tree."""

    size: int
    nodes: list[BeamNode]


class Attribution(Part):
    """How much of each step is owed to each token, by gradients."""

    method: str
    source: Array
    target: Array


class Positions(Array):
    """The vectors of the first positions."""

    kind: str


class OtherTranslation(Part):
    """Another translation that the search found."""

    text: str
    score: float


class ExplanationTold(Part):
    """A sentence pair seen from inside of a model."""

    format: Literal["regard-explanation"]
    version: int
    model: ExplainedModel
    source: ExplainedSource
    target: ExplainedTarget
    attention: AttentionArrays
    steps: list[ExplainedStep]
    beam: Beam | None = Field(description="null for a given target")
    attribution: Attribution
    positions: Positions | None = Field(description="null where the model adds none")
    alternatives: list[OtherTranslation]
