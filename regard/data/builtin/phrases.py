"""Phrases in three languages at once: noun phrases, names, pairs of names, pronouns and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from regard.data.builtin import chinese, english, french
from regard.data.builtin.adjectives import QUALITIES
from regard.data.builtin.determiners import HER, HIS, MY, NUMBERS, OUR, THE, THEIR_FEMININE, THEIR_MASCULINE, THIS, A
from regard.data.builtin.nouns_living import ANIMALS, NAMES, PEOPLE
from regard.data.builtin.nouns_things import FOOD, OBSTACLES, PLACES, THINGS
from regard.data.builtin.words import Adjective, Chooser, Determiner, Gender, Name, Noun

Kind = Literal["person", "animal", "thing"]
NOUNS = ANIMALS + PEOPLE + THINGS + FOOD + OBSTACLES + PLACES
BY_NAME = {noun.english: noun for noun in NOUNS}


@dataclass(frozen=True, slots=True)
class Phrase:
    """The same phrase in each language, with what agreement needs to know of it."""

    english: str
    french: str
    chinese: str
    gender: Gender
    plural: bool
    kind: Kind
    nouns: tuple[str, ...] = ()
    adjectives: tuple[str, ...] = ()

    @property
    def english_pronoun(self) -> str:
        if self.plural:
            return "they"
        return {"m": "he", "f": "she"}[self.gender] if self.kind == "person" else "it"

    @property
    def french_pronoun(self) -> str:
        return french.subject_pronoun(self.gender, self.plural)

    @property
    def chinese_pronoun(self) -> str:
        return chinese.pronoun(self.kind, self.gender, self.plural)

    @property
    def possessive(self) -> Determiner:
        """The determiner of what this one owns: his, her, their."""
        if self.plural:
            return THEIR_FEMININE if self.gender == "f" else THEIR_MASCULINE
        return HER if self.gender == "f" else HIS


HE = Phrase("he", "il", "他", "m", False, "person")
SHE = Phrase("she", "elle", "她", "f", False, "person")


@cache
def tagged(*tags: str) -> tuple[Noun, ...]:
    """The nouns that carry any of the tags."""
    return tuple(noun for noun in NOUNS if noun.tags.intersection(tags))


@cache
def noun_phrase(
    noun: Noun, determiner: Determiner, plural: bool = False, adjectives: tuple[Adjective, ...] = ()
) -> Phrase:
    """A determiner, up to two adjectives and a noun."""
    words = [adjective.english for adjective in adjectives] + [noun.english_plural if plural else noun.english]
    article = determiner.english_plural if plural else determiner.english
    kind: Kind = "person" if "person" in noun.tags else "animal" if "animal" in noun.tags else "thing"
    return Phrase(
        english.with_article(article, " ".join(words)),
        french.noun_phrase(noun, determiner, plural, adjectives),
        chinese.noun_phrase(noun, determiner, plural, adjectives),
        noun.gender,
        plural,
        kind,
        (noun.english,),
        tuple(adjective.english for adjective in adjectives),
    )


@cache
def name_phrase(first: Name, second: Name | None = None) -> Phrase:
    """One name, or two with `and`: only women together are feminine."""
    if second is None:
        return Phrase(first.latin, first.latin, first.chinese, first.gender, False, "person")
    gender: Gender = "f" if first.gender == second.gender == "f" else "m"
    both = f"{first.latin} and {second.latin}", f"{first.latin} et {second.latin}", f"{first.chinese}和{second.chinese}"
    return Phrase(*both, gender, True, "person")


@cache
def fitting(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may qualify a noun."""
    return tuple(one for one in QUALITIES if one.tags & noun.tags and not chinese.clashes(one, noun))


@cache
def predicative(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may be said of a noun; `new` is not among them, for French would change the word (neuf)."""
    return tuple(one for one in fitting(noun) if one.english != "new")


@cache
def _direct(noun: Noun) -> tuple[Adjective, ...]:
    """Those that need no 的 in Chinese: they may join a second adjective or follow a possessive."""
    return tuple(one for one in fitting(noun) if not one.attributive.endswith("的"))


def draw_adjectives(chooser: Chooser, noun: Noun, determiner: Determiner, most: int = 1) -> tuple[Adjective, ...]:
    """No adjective, one, or two that go together."""
    if most == 0 or chooser.chance(0.5):
        return ()
    owned = determiner.chinese.endswith("的")
    choice = _direct(noun) if owned else fitting(noun)
    if not choice:
        return ()
    first = chooser.pick(choice)
    if most == 2 and not owned and first in _direct(noun) and chooser.chance(0.5):
        second = chooser.pick(fitting(noun))
        if not second.before and second.group != first.group:
            return first, second
    return (first,)


def draw_plural(chooser: Chooser, noun: Noun, probability: float = 0.3) -> bool:
    """Whether several are meant; food and drink by the mass stay singular."""
    return chooser.chance(probability) and "mass" not in noun.tags


def draw_definite(chooser: Chooser, nouns: Sequence[Noun], most_adjectives: int = 1) -> Phrase:
    """The dog, this old chair, our cats, the big red cars."""
    noun = chooser.pick(nouns)
    # People are nobody's: `my man` would say more than it should.
    determiner = chooser.pick((THE, THE, THE, THIS) if "person" in noun.tags else (THE, THE, THE, THE, THIS, MY, OUR))
    adjectives = draw_adjectives(chooser, noun, determiner, most_adjectives)
    return noun_phrase(noun, determiner, draw_plural(chooser, noun), adjectives)


def draw_indefinite(chooser: Chooser, nouns: Sequence[Noun], most_adjectives: int = 2) -> Phrase:
    """A dog, some old chairs, three white horses."""
    noun = chooser.pick(nouns)
    plural = draw_plural(chooser, noun, 0.6)
    determiner = chooser.pick((A, *NUMBERS)) if plural else A
    return noun_phrase(noun, determiner, plural, draw_adjectives(chooser, noun, determiner, most_adjectives))


def draw_person(chooser: Chooser, names_share: float = 0.5) -> Phrase:
    """Somebody whose gender English shows: Marie, Paul and Anna, the old king, these girls."""
    if chooser.chance(names_share):
        if chooser.chance(0.25):
            return name_phrase(*chooser.two(NAMES))
        return name_phrase(chooser.pick(NAMES))
    noun = chooser.pick(tagged("gendered"))
    determiner = chooser.pick((THE, THE, THIS))
    plural = draw_plural(chooser, noun)
    return noun_phrase(
        noun, determiner, plural, draw_adjectives(chooser, noun, determiner) if chooser.chance(0.5) else ()
    )
