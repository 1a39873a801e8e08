"""What goes in and out of the API, as types; OpenAPI is made from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]
Code = Annotated[str, Field(min_length=2, max_length=16)]


class Given(BaseModel):
    """A body: closed to unknown fields, and strict about types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Told(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


# LibreTranslate's


class LibreGiven(Given):
    """A body as LibreTranslate takes it: what it has besides is not looked at."""

    model_config = ConfigDict(extra="ignore")


class TranslateGiven(LibreGiven):
    """A request to translate."""

    q: Text | list[str] = Field(description="the text, or a list of texts")
    source: str = Field(description="code of the source language, or auto", examples=["en"])
    target: str = Field(description="code of the target language", examples=["fr"])
    format: Literal["text", "html"] | None = Field("text", description="text, or html with its tags kept")
    alternatives: int | None = Field(0, ge=0, description="other translations that are wanted")
    api_key: str | None = Field(None, description="where the server needs one")


class DetectGiven(LibreGiven):
    """A request to tell a language."""

    q: Text = Field(description="the text")
    api_key: str | None = Field(None, description="where the server needs one")


class Detected(Told):
    """A language that a text may be in."""

    confidence: float = Field(ge=0, le=100)
    language: str


class TranslateTold(Told):
    """Translations: lists for a list. `detectedLanguage` is there only for source auto."""

    translatedText: str | list[str]  # noqa: N815 - LibreTranslate's name
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: Detected | list[Detected] | None = None  # noqa: N815


class LanguageTold(Told):
    """A language, and what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class HealthTold(Told):
    """Whether all is well."""

    status: Literal["ok"]


class NamedLanguage(Told):
    """A language."""

    code: str
    name: str


class DefaultLanguages(Told):
    """Languages to begin with."""

    source: NamedLanguage
    target: NamedLanguage


class FrontendTold(Told):
    """What a page in front of the service needs to know."""

    charLimit: int  # noqa: N815
    frontendTimeout: int  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str]  # noqa: N815
    language: DefaultLanguages


class ErrorTold(Told):
    """Why there is no answer."""

    error: str


# Ours


class GlossaryTerm(Given):
    """A term that must be used where the source has it."""

    source: str = Field(min_length=1, max_length=200)
    target: str = Field(min_length=1, max_length=200)


class OwnGiven(Given):
    """What every request to translate has, but for its text."""

    source: Code = Field(description="code of the source language, or auto", examples=["en"])
    target: Code = Field(description="code of the target language", examples=["fr"])
    glossary: list[GlossaryTerm] = Field([], description="terms that must be used")
    keep_spans: bool = Field(True, description="leave addresses, placeholders and tags as they are")
    api_key: str | None = Field(None, description="where the server needs one")


class StreamGiven(OwnGiven):
    """A text to translate, watched as it is."""

    text: str = Field(description="of any number of sentences")


class RichTranslateGiven(OwnGiven):
    """A text to translate, with all that is known about it."""

    text: str | None = Field(None, description="one text, of any number of sentences")
    texts: list[str] | None = Field(None, description="several, instead of one")
    best: int = Field(
        1, ge=1, le=100, description="translations of each sentence; one with terms or kept spans has a single one"
    )
    alignment: bool = Field(False, description="tell which words belong together")


class Word(Told):
    """A word where it stands: characters `start` to `stop` of its sentence."""

    text: str
    start: int
    stop: int


class LikelyWord(Word):
    """A word of a translation, and how likely the model found it; null where it was put there by rule."""

    probability: float | None


class LikelyToken(Told):
    """A token as it can be printed (`▁` is a space), and how likely the model found it after those before it."""

    text: str
    probability: float


class RichTranslation(Told):
    """A translation of a sentence."""

    text: str
    score: float
    confidence: float | None = Field(description="the chance that it is good, if the model was calibrated")
    words: list[LikelyWord]
    tokens: list[LikelyToken] = Field(
        description="what the model wrote, its end mark included if it came to one; words stand in for kept spans"
    )
    alignment: list[tuple[int, int]] = Field(description="pairs of a source word and a target word, counted from 0")


class Constraint(Told):
    """What became of a term of the glossary."""

    term: str
    wanted: str
    met: bool


class RichSentence(Told):
    """A sentence and its translations, best first."""

    source: str
    before: str = Field(description="what stands between the sentence before and this one, in the source")
    target_before: str = Field(description="the same in the translation: languages differ in the spaces they write")
    source_words: list[Word]
    translations: list[RichTranslation]
    constraints: list[Constraint]


class RichTold(Told):
    """A text, its translation, and its sentences one by one."""

    source: str
    target: str
    text: str
    sentences: list[RichSentence]
    after: str


class PartialTold(Told):
    """How far a translation is."""

    text: str


class RichListTold(Told):
    """The answers for several texts."""

    results: list[RichTold]


class ExplainGiven(Given):
    """A sentence to look into, with its own translation or a given one."""

    text: Text
    source: Code = Field(examples=["en"])
    target: Code = Field(examples=["fr"])
    translation: str | None = Field(None, description="a target to look at instead of the model's own")
    beam: int | None = Field(None, ge=1, le=20)
    api_key: str | None = Field(None, description="where the server needs one")


class ModelTold(Told):
    """One model."""

    name: str
    source: str
    target: str
    source_name: str
    target_name: str
    calibrated: bool
    parameters: int


class LimitsTold(Told):
    """How much one request may ask for."""

    body_bytes: int
    characters: int
    items: int
    total_characters: int
    alternatives: int
    explain_characters: int
    glossary_terms: int


class ModelsTold(Told):
    """What there is, and what may be asked of it."""

    models: list[ModelTold]
    limits: LimitsTold
    api_key_required: bool
