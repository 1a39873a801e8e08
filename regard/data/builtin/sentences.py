"""A sentence in three languages, and the pronoun on which it hinges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PronounCase:
    """Where a translation shows what a pronoun stands for, and what must stand there."""

    english: str
    """The English pronoun: it, they, he, she, them."""
    antecedent: str
    """The English noun (or name) that it stands for, as it is written in the sentence."""
    pattern: str
    """A regular expression with one group: the words of a translation that show the choice."""
    right: str
    """What the group must hold: `elle`, `la`, `l'a vendue`."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One meaning in three languages; `nouns` and `adjectives` are the words whose combinations may be held out."""

    english: str
    french: str
    chinese: str
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    french_pronoun: PronounCase | None = None
    chinese_pronoun: PronounCase | None = None


class Part(Protocol):
    """Anything that names the nouns and adjectives in it: a phrase, a place."""

    @property
    def nouns(self) -> tuple[str, ...]: ...
    @property
    def adjectives(self) -> tuple[str, ...]: ...


def sentence(
    surfaces: tuple[str, str, str],
    parts: tuple[Part, ...],
    said: tuple[str, ...] = (),
    pronouns: tuple[PronounCase | None, PronounCase | None] = (None, None),
) -> Sentence:
    """A sentence from English, French and Chinese words, the parts it is made of, and adjectives said besides."""
    in_english, in_french, in_chinese = surfaces
    nouns = tuple(noun for part in parts for noun in part.nouns)
    adjectives = tuple(adjective for part in parts for adjective in part.adjectives) + said
    return Sentence(_capital(in_english), _capital(in_french), in_chinese, nouns, adjectives, *pronouns)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def shows_right(case: PronounCase, hypothesis: str) -> bool:
    """Whether a translation has the pronoun right, whatever else it says."""
    found = _compiled(case.pattern).search(hypothesis.replace("’", "'"))
    return found is not None and found[1].lower() == case.right
