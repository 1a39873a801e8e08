"""Sentences with object pronouns: French puts them before the verb, Chinese takes 把, and both know the noun."""

from __future__ import annotations

from dataclasses import dataclass

from regard.data.builtin import french
from regard.data.builtin.phrases import (
    Phrase,
    draw_adjectives,
    draw_definite,
    draw_indefinite,
    draw_person,
    draw_plural,
    noun_phrase,
    tagged,
)
from regard.data.builtin.places import draw_place
from regard.data.builtin.sentences import PronounCase, Sentence, sentence
from regard.data.builtin.words import Chooser


@dataclass(frozen=True, slots=True)
class Deed:
    """Two things done to one object: bought and sold; past forms, French participles, Chinese around the object."""

    first: tuple[str, str, str]
    then: tuple[str, str, str]
    tag: str


DEEDS = (
    Deed(("bought", "acheté", "买了"), ("sold", "vendu", "卖了"), "sold"),
    Deed(("found", "trouvé", "找到了"), ("hid", "caché", "藏起来了"), "portable"),
    Deed(("found", "trouvé", "找到了"), ("lost", "perdu", "弄丢了"), "portable"),
    Deed(("broke", "cassé", "弄坏了"), ("repaired", "réparé", "修好了"), "mended"),
    Deed(("bought", "acheté", "买了"), ("painted", "peint", "漆了一遍"), "furniture"),
)


def draw_put(chooser: Chooser) -> Sentence:
    """The girl takes the key and puts it on the table."""
    who, where = draw_person(chooser), draw_place(chooser, "on", "under", "inside", "room")
    nouns = tuple(noun for noun in tagged("portable", "grocery") if noun.english not in where.nouns)
    draw = draw_definite if chooser.chance(0.6) else draw_indefinite
    what = draw(chooser, nouns, 1)
    verbs = ("prennent", "mettent") if who.plural else ("prend", "met")
    clitic = french.object_pronoun(what.gender, what.plural, verbs[1])
    them = "them" if what.plural else "it"
    takes, puts = ("take", "put") if who.plural else ("takes", "puts")
    return sentence(
        (
            f"{who.english} {takes} {what.english} and {puts} {them} {where.english}.",
            f"{who.french} {verbs[0]} {what.french} et {clitic} {where.french}.",
            f"{who.chinese}拿起{what.chinese}，把{what.chinese_pronoun}放在{where.chinese}。",
        ),
        (who, what, where),
        pronouns=(
            _case(what, r"\bet (le|la|les|l')\s?met", clitic.split()[0]),
            _case(what, "把(它们|它)放", what.chinese_pronoun),
        ),
    )


def draw_deeds(chooser: Chooser) -> Sentence:
    """Paul bought two chairs and sold them: the participle agrees with the object that goes before it."""
    who, deed = draw_person(chooser), chooser.pick(DEEDS)
    draw = draw_definite if chooser.chance(0.4) else draw_indefinite
    what = draw(chooser, tagged(deed.tag), 1)
    have = french.avoir(who.plural)
    clitic = french.object_pronoun(what.gender, what.plural, have)
    shown = f"{clitic} {french.participle(deed.then[1], what.gender, what.plural)}"
    them = "them" if what.plural else "it"
    return sentence(
        (
            f"{who.english} {deed.first[0]} {what.english} and {deed.then[0]} {them}.",
            f"{who.french} {have} {deed.first[1]} {what.french} et {shown}.",
            f"{who.chinese}{deed.first[2]}{what.chinese}，然后把{what.chinese_pronoun}{deed.then[2]}。",
        ),
        (who, what),
        pronouns=(
            _case(what, r"\bet ((?:l'|les )(?:a|ont) \w+)", shown),
            _case(what, "把(它们|它)", what.chinese_pronoun),
        ),
    )


def draw_search(chooser: Chooser) -> Sentence:
    """Marie is looking for her watch but she can't find it."""
    who = draw_person(chooser)
    noun = chooser.pick(tagged("portable"))
    adjectives = draw_adjectives(chooser, noun, who.possessive)
    what = noun_phrase(noun, who.possessive, draw_plural(chooser, noun), adjectives)
    seeks, finds = ("cherchent", "trouvent") if who.plural else ("cherche", "trouve")
    clitic = french.object_pronoun(what.gender, what.plural, finds)
    are, them = ("are" if who.plural else "is"), ("them" if what.plural else "it")
    return sentence(
        (
            f"{who.english} {are} looking for {what.english} but {who.english_pronoun} can't find {them}.",
            f"{who.french} {seeks} {what.french} mais {who.french_pronoun} ne {clitic} pas.",
            f"{who.chinese}在找{what.chinese}，可是{who.chinese_pronoun}找不到。",
        ),
        (who, what),
        pronouns=(
            _case(what, r"\bne (le|la|les|l')\s?trouve", clitic.split()[0]),
            None,
        ),
    )


def _case(what: Phrase, pattern: str, right: str) -> PronounCase:
    return PronounCase("them" if what.plural else "it", what.english.split()[-1], pattern, right)
