"""The configuration of the text: where it lies, and what is done with bad lines."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.section import Section
from regard.errors import ConfigError

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
    target_by: tuple[str, ...] = Field(
        (),
        strict=False,
        description="model folders, several as an ensemble: what they make of the source is learned as the target",
    )
    source_by: tuple[str, ...] = Field(
        (),
        strict=False,
        description="model folders of the other direction: what they make of the target is learned as the source",
    )

    @property
    def made_by(self) -> tuple[str, ...]:
        """The models that make one of its sides, if any."""
        return self.target_by or self.source_by

    def turned(self) -> Self:
        """The same text in the other direction."""
        if self.pairs is not None:
            raise ConfigError(
                f"{self.pairs} holds both sides in one file, so it cannot be read in the other direction: give it as "
                "`source` and `target`, two files"
            )
        languages = self.languages and self.languages[::-1]
        return self.model_copy(update={"source": self.target, "target": self.source, "languages": languages})

    @model_validator(mode="after")
    def _two_files_or_one(self) -> Self:
        two = self.source is not None and self.target is not None
        if two == (self.pairs is not None) or (self.pairs and (self.source or self.target)):
            raise ValueError("give either `source` and `target` (two aligned files) or `pairs` (one file)")
        return self

    @model_validator(mode="after")
    def _one_side_is_written_by_people(self) -> Self:
        if self.target_by and self.source_by:
            raise ValueError(
                "`target_by` and `source_by` do not go together: name the files twice, once for each, and models "
                "make one side of either"
            )
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

    @property
    def makers(self) -> tuple[str, ...]:
        """The models that make a side of the training text, each once."""
        return tuple(dict.fromkeys(name for corpus in self.train for name in corpus.made_by))

    def turned(self) -> Self:
        """The same text for the other direction."""
        corpora = {name: tuple(corpus.turned() for corpus in getattr(self, name)) for name in ("train", "validation")}
        languages = {"source_language": self.target_language, "target_language": self.source_language}
        return self.model_copy(update={**languages, **corpora})

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
    def _people_judge(self) -> Self:
        if any(corpus.made_by for corpus in self.validation):
            raise ValueError("`target_by` and `source_by` are for `train`: what a model wrote can judge no other")
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
