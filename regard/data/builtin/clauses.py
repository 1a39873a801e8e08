"""Relative clauses, comparisons and questions, where the word order of the three languages differs most."""

from __future__ import annotations

from functools import cache

from regard.data.builtin import chinese, english, french
from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.determiners import THE
from regard.data.builtin.nouns_living import NAMES
from regard.data.builtin.phrases import (
    draw_definite,
    draw_person,
    draw_plural,
    name_phrase,
    noun_phrase,
    predicative,
    tagged,
)
from regard.data.builtin.places import draw_place
from regard.data.builtin.sentences import Sentence, sentence
from regard.data.builtin.words import Chooser, Noun

# English past and base, French participle, Chinese in a clause and in a question.
CHOICES = (
    ("bought", "buy", "acheté", "买", "买了"),
    ("found", "find", "trouvé", "找到", "找到了"),
    ("sold", "sell", "vendu", "卖掉", "卖掉了"),
    ("chose", "choose", "choisi", "选", "选了"),
    ("lost", "lose", "perdu", "弄丢", "弄丢了"),
)
# English, French singular and plural, Chinese, and the tags of those who do it.
DOINGS = (
    ("sleeping", "dort", "dorment", "睡觉", ("animal", "person")),
    ("waiting", "attend", "attendent", "等待", ("animal", "person")),
    ("playing", "joue", "jouent", "玩耍", ("animal", "child")),
    ("reading", "lit", "lisent", "看书", ("person",)),
    ("singing", "chante", "chantent", "唱歌", ("person",)),
)
# What can be compared, by the tag of both nouns; the English comparative stands beside its adjective.
COMPARISONS = {
    "animal": (
        ("big", "bigger"),
        ("small", "smaller"),
        ("fast", "faster"),
        ("slow", "slower"),
        ("strong", "stronger"),
        ("heavy", "heavier"),
        ("dangerous", "more dangerous"),
        ("intelligent", "more intelligent"),
    ),
    "bought": (("expensive", "more expensive"), ("heavy", "heavier"), ("ugly", "uglier"), ("big", "bigger")),
    "building": (("big", "bigger"), ("old", "older"), ("noisy", "noisier"), ("high", "higher")),
}


def draw_chosen(chooser: Chooser) -> Sentence:
    """The chairs that Anna bought are expensive: the participle agrees, and Chinese puts the clause first."""
    who = name_phrase(chooser.pick(NAMES)) if chooser.chance(0.7) else draw_person(chooser)
    past, _, participle, verb, _ = chooser.pick(CHOICES)
    noun = chooser.pick(tagged("object"))
    plural = draw_plural(chooser, noun)
    what, quality = noun_phrase(noun, THE, plural), chooser.pick(predicative(noun))
    done = french.participle(participle, what.gender, plural)
    return sentence(
        (
            f"{what.english} that {who.english} {past} {english.be(plural)} {quality.english}.",
            f"{what.french} {french.elide('que', who.french)} {french.avoir(who.plural)} {done} {french.be(plural)} "
            f"{french.agree(quality, what.gender, plural)}.",
            f"{who.chinese}{verb}的{what.chinese}{chinese.predicate(quality)}。",
        ),
        (what, who),
        (quality.english,),
    )


def draw_doing(chooser: Chooser) -> Sentence:
    """The dog that is sleeping under the table is black."""
    where = draw_place(chooser)
    doing, does, do, verb, tags = chooser.pick(DOINGS)
    if where.little:
        doing, does, do, verb, tags = *DOINGS[0][:4], ("little",)
    noun = chooser.pick(tagged(*tags))
    plural = draw_plural(chooser, noun)
    who, quality = noun_phrase(noun, THE, plural), chooser.pick(predicative(noun))
    agreed = french.agree(quality, who.gender, plural)
    link, are, be = "who" if who.kind == "person" else "that", english.be(plural), french.be(plural)
    return sentence(
        (
            f"{who.english} {link} {are} {doing} {where.english} {are} {quality.english}.",
            f"{who.french} qui {do if plural else does} {where.french} {be} {agreed}.",
            f"在{where.chinese}{verb}的{who.chinese}{chinese.predicate(quality)}。",
        ),
        (who, where),
        (quality.english,),
    )


def draw_comparison(chooser: Chooser) -> Sentence:
    """The dog is bigger than the cat; the cat is not as big as the dog."""
    tag = chooser.pick(("animal", "animal", "bought", "building"))
    first, second = chooser.two(_comparable(tag))
    plural = chooser.chance(0.25)
    one, other = noun_phrase(first, THE, plural), noun_phrase(second, THE, plural)
    word, more = chooser.pick(COMPARISONS[tag])
    adjective = ADJECTIVES[word]
    agreed, be = french.agree(adjective, one.gender, plural), french.be(plural)
    if chooser.chance(0.6):
        surfaces = (
            f"{one.english} {english.be(plural)} {more} than {other.english}.",
            f"{one.french} {be} plus {agreed} que {other.french}.",
            f"{one.chinese}比{other.chinese}{adjective.chinese}。",
        )
    else:
        surfaces = (
            f"{one.english} {english.be(plural)} not as {word} as {other.english}.",
            f"{one.french} {french.elide('ne', be)} pas aussi {agreed} que {other.french}.",
            f"{one.chinese}没有{other.chinese}{adjective.chinese}。",
        )
    return sentence(surfaces, (one, other), (word,))


@cache
def _comparable(tag: str) -> tuple[Noun, ...]:
    """Nouns of one tag; a house is compared with buildings, and a dog not with `the animal`."""
    others = {"animal"} | ({noun.english for noun in tagged("building")} if tag != "building" else set())
    return tuple(noun for noun in tagged(tag) if noun.english not in others)


def draw_question(chooser: Chooser) -> Sentence:
    """Where, how many, who, and whether."""
    return chooser.pick((_where, _how_many, _who, _whether))(chooser)


def _where(chooser: Chooser) -> Sentence:
    what = draw_definite(chooser, tagged("animal", "portable", "bought", "person"))
    return sentence(
        (
            f"where {english.be(what.plural)} {what.english}?",
            f"où {french.be(what.plural)} {what.french} ?",
            f"{what.chinese}在哪里？",
        ),
        (what,),
    )


def _how_many(chooser: Chooser) -> Sentence:
    where = draw_place(chooser)
    noun: Noun = chooser.pick([one for one in tagged(*where.dwellers) if one.english not in where.nouns])
    what = noun_phrase(noun, THE, plural=True)
    return sentence(
        (
            f"how many {noun.english_plural} are there {where.english}?",
            f"combien {french.elide('de', noun.french_plural)} y a-t-il {where.french} ?",
            f"{where.chinese}有几{noun.measure}{noun.chinese}？",
        ),
        (what, where),
    )


def _who(chooser: Chooser) -> Sentence:
    past, _, participle, _, verb = chooser.pick(CHOICES)
    what = draw_definite(chooser, tagged("portable", "sold"))
    return sentence(
        (f"who {past} {what.english}?", f"qui a {participle} {what.french} ?", f"谁{verb}{what.chinese}？"),
        (what,),
    )


def _whether(chooser: Chooser) -> Sentence:
    who = draw_person(chooser)
    _, base, participle, _, verb = chooser.pick(CHOICES)
    what = draw_definite(chooser, tagged("portable", "sold"))
    asked = f"{who.french} {french.avoir(who.plural)} {participle} {what.french}"
    return sentence(
        (
            f"did {who.english} {base} {what.english}?",
            f"{french.elide('est-ce que', asked)} ?",
            f"{who.chinese}{verb}{what.chinese}吗？",
        ),
        (who, what),
    )
