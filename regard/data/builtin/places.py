"""Where and when: places with their prepositions, and times of the past."""

from __future__ import annotations

from dataclasses import dataclass

from regard.data.builtin import chinese, french
from regard.data.builtin.determiners import OUR, THE
from regard.data.builtin.phrases import draw_adjectives, noun_phrase, tagged
from regard.data.builtin.words import Chooser, Noun


@dataclass(frozen=True, slots=True)
class Place:
    """A place: `under the table`, `sous la table`, `桌子下面`."""

    english: str
    french: str
    chinese: str
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    little: bool
    """Whether only what is little fits there."""

    @property
    def dwellers(self) -> tuple[str, ...]:
        """The tags of what may be found there."""
        return ("little", "portable", "grocery") if self.little else ("animal", "person", "portable")


@dataclass(frozen=True, slots=True)
class Time:
    """A time of the past; it stands last in English and French, before the verb in Chinese."""

    english: str
    french: str
    chinese: str


# English, French (contracted with the article where it ends in de), Chinese locative, tag of the nouns.
# Nouns tagged `nearby` have no front and no back.
PREPOSITIONS = (
    ("on", "sur", "上", "on"),
    ("under", "sous", "下面", "under"),
    ("under", "sous", "下面", "shelter"),
    ("in", "dans", "里", "inside"),
    ("in", "dans", "里", "room"),
    ("behind", "derrière", "后面", "beside"),
    ("in front of", "devant", "前面", "beside"),
    ("near", "près de", "附近", "beside"),
    ("near", "près de", "附近", "nearby"),
)
TIMES = (
    Time("yesterday", "hier", "昨天"),
    Time("this morning", "ce matin", "今天早上"),
    Time("last night", "hier soir", "昨天晚上"),
    Time("last week", "la semaine dernière", "上个星期"),
    Time("on Monday", "lundi", "星期一"),
    Time("two days ago", "il y a deux jours", "两天前"),
    Time("three weeks ago", "il y a trois semaines", "三个星期前"),
)


def draw_place(chooser: Chooser, *tags: str) -> Place:
    """A place to be at; with tags, only among nouns of those tags."""
    english, preposition, locative, tag = chooser.pick([one for one in PREPOSITIONS if not tags or one[3] in tags])
    noun = chooser.pick(tagged(tag))
    adjectives = draw_adjectives(chooser, noun, OUR) if chooser.chance(0.3) else ()  # short ones, as after a possessive
    phrase = noun_phrase(noun, THE, False, adjectives)
    contracted = french.contract(preposition, phrase.french) if preposition.endswith("de") else None
    return Place(
        f"{english} {phrase.english}",
        contracted or f"{preposition} {phrase.french}",
        chinese.bare(noun, adjectives) + locative,
        phrase.nouns,
        phrase.adjectives,
        tag in ("on", "under", "inside"),
    )


def draw_goal(chooser: Chooser) -> Noun:
    """Where one goes to or comes from."""
    return chooser.pick(tagged("goal"))
