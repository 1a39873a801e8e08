"""The kinds of word that the built-in grammar knows, and the chooser that draws from them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

Gender = Literal["m", "f"]
Item = TypeVar("Item")


# Words are compared by identity (eq=False): each stands once in the lexicon, and phrases are cached by their words.
@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A common noun with its French gender, its Chinese measure word, and tags that say where it may stand."""

    english: str
    french: str
    gender: Gender
    chinese: str
    measure: str
    tags: frozenset[str]
    english_plural: str
    french_plural: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; its tags name the nouns that it may qualify, its group the adjectives that it excludes."""

    english: str
    masculine: str
    feminine: str
    chinese: str
    attributive: str
    """How it stands before a Chinese noun: `小`, `红色的`."""
    tags: frozenset[str]
    group: str
    before: bool
    """Whether the French adjective precedes its noun."""
    vowel: str
    """The masculine form before a vowel sound: `vieil`, `bel`, `nouvel`."""
    invariable: bool
    colour: bool


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """An article, a demonstrative, a possessive, a number or an ordinal in the three languages."""

    english: str
    english_plural: str
    masculine: str
    feminine: str
    plural: str
    masculine_vowel: str
    feminine_vowel: str
    """The French singular before a vowel sound: l', cet; it is joined where it ends with an apostrophe."""
    chinese: str
    chinese_plural: str
    """Chinese forms hold `{measure}` where the noun's measure word goes."""


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person's first name, the same in English and French."""

    latin: str
    chinese: str
    gender: Gender


class Chooser:
    """Draws from a seed; only `Random.random` is used, whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self._next() * len(items))]

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    def two(self, items: Sequence[Item]) -> tuple[Item, Item]:
        """Two different items, in random order."""
        first = int(self._next() * len(items))
        second = int(self._next() * (len(items) - 1))
        return items[first], items[second + (second >= first)]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
