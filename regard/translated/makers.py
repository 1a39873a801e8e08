"""Models that translate one side of a text, several as one: its sources or, where they lead back, its targets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from regard.config import Config, CorpusConfig
from regard.data.checks import PairCheck
from regard.data.corpus import Pair, read_pairs
from regard.errors import InputError
from regard.models.ensemble import Average
from regard.models.folder import WEIGHTS
from regard.progress import note
from regard.search.options import SearchOptions
from regard.search.translator import Translator
from regard.translated.corpus import PAIRS, Choice, Taught, TaughtCorpus

LARGE_SHARE = 0.1
"""Of translations that cannot be used: more of them are worth a word."""


@dataclass(frozen=True)
class Makers:
    """Who translates a text, and in which direction."""

    folders: tuple[str, ...]
    translator: Translator
    digests: tuple[str, ...]
    """Of their weights."""
    average: Average
    back: bool
    """Whether they translate targets, so that what they write becomes sources."""

    @classmethod
    def load(cls, folders: Sequence[str | Path], average: Average = "probabilities", back: bool = False) -> Makers:
        translator = Translator.load(*folders, average=average)
        digests = tuple(_digest(Path(folder) / WEIGHTS) for folder in folders)
        return cls(tuple(map(str, folders)), translator, digests, average, back)

    def between(self, languages: tuple[str, str]) -> Translator:
        """Their translator for text of a pair of languages; an error where they do not know it."""
        try:
            return self.translator.between(*(reversed(languages) if self.back else languages))
        except InputError as error:
            raise InputError(f"{self.folders[0]}: {error}") from None

    def make(
        self,
        corpus: CorpusConfig,
        config: Config,
        folder: Path,
        choice: Choice = "likeliest",
        **search: Unpack[SearchOptions],
    ) -> Taught:
        """What they make of a corpus, kept in a folder, as far as it is not there yet."""
        own = self.between(config.data.pair_of(corpus))
        rules = {rule: getattr(config.data, rule) for rule in ("max_characters", "max_ratio")}
        settings: dict[str, Any] = {"teachers": list(self.digests), "average": self.average, **rules}
        settings["own_search"] = own.config.search.model_dump()
        if own.config.data.tags:
            settings["languages"] = list(own.languages)
        made = TaughtCorpus(folder, settings, PairCheck("", "", config.data), self.back)
        return made.made(own, partial(self._read, corpus, config), choice, **search)

    def _read(self, corpus: CorpusConfig, config: Config) -> Iterator[Pair]:
        for pair in read_pairs(corpus, config.data):
            yield replace(pair, source=pair.target, target=pair.source) if self.back else pair


def made_corpus(corpus: CorpusConfig, folder: Path) -> CorpusConfig:
    """A corpus with what was made of it, in a folder, in its place."""
    here = folder.absolute()  # by one name, however the folder is spelt
    if here.is_relative_to(Path.cwd()):
        here = here.relative_to(Path.cwd())
    kept = {key: getattr(corpus, key) for key in ("weight", "epochs", "languages")}
    return CorpusConfig(pairs=str(here / PAIRS), **kept)


def note_replaced(taught: Sequence[Taught]) -> None:
    """Say so where a student would learn much that no model wrote."""
    pairs, replaced = sum(each.pairs for each in taught), sum(each.replaced for each in taught)
    if replaced > LARGE_SHARE * pairs:
        note(f"{replaced:,} of {pairs:,} translations are empty, endless or bad pairs: the text itself replaces them")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
