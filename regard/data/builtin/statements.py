"""Plain statements: what is where, who went where, what things are like, who gave what to whom."""

from __future__ import annotations

from regard.data.builtin import chinese, english, french
from regard.data.builtin.adjectives import QUALITIES
from regard.data.builtin.determiners import ORDINALS, THE, A
from regard.data.builtin.nouns_living import NAMES, PEOPLE
from regard.data.builtin.phrases import (
    BY_NAME,
    HE,
    SHE,
    Phrase,
    draw_adjectives,
    draw_definite,
    draw_indefinite,
    draw_person,
    name_phrase,
    noun_phrase,
    predicative,
    tagged,
)
from regard.data.builtin.places import TIMES, draw_goal, draw_place
from regard.data.builtin.sentences import Sentence, sentence
from regard.data.builtin.words import Chooser

# Stands for the subject where there is no noun: I, we.
NOBODY = Phrase("", "", "", "m", False, "person")
STAYING_TIMES = 5
GROUPS = {adjective.english: adjective.group for adjective in QUALITIES}
# English past, French participle, French preposition, Chinese before and after the place.
MOTIONS = (
    ("went to", "allé", "à", "去了", ""),
    ("arrived at", "arrivé", "à", "到了", ""),
    ("came back from", "revenu", "de", "从", "回来了"),
    ("stayed at", "resté", "à", "待在", "里"),
)
SPEAKERS = (("I", "j'ai", "je n'ai", "我"), ("we", "nous avons", "nous n'avons", "我们"))
# English past, French participle, Chinese verb; the object goes to somebody.
GIFTS = (
    ("gave", "donné", "给"),
    ("lent", "prêté", "借给"),
    ("sold", "vendu", "卖给"),
    ("sent", "envoyé", "寄给"),
)
# English past, French participle, Chinese.
TAKINGS = (
    ("bought", "acheté", "买了"),
    ("found", "trouvé", "找到了"),
    ("chose", "choisi", "选了"),
    ("lost", "perdu", "弄丢了"),
)


def draw_there_is(chooser: Chooser) -> Sentence:
    """There are three small black cats under the table."""
    where = draw_place(chooser)
    nouns = tuple(noun for noun in tagged(*where.dwellers) if noun.english not in where.nouns)
    what = draw_indefinite(chooser, nouns)
    return sentence(
        (
            f"there {english.be(what.plural)} {what.english} {where.english}.",
            f"il y a {what.french} {where.french}.",
            f"{where.chinese}有{what.chinese}。",
        ),
        (what, where),
    )


def draw_motion(chooser: Chooser) -> Sentence:
    """The girls went to the market yesterday: the participle agrees, à and de contract, Chinese says when first."""
    who = chooser.pick((HE, SHE)) if chooser.chance(0.1) else draw_person(chooser)
    past, participle, preposition, before, after = chooser.pick(MOTIONS)
    where = draw_goal(chooser)
    # One stays for a while, not two days ago; one stays on a beach, not in it.
    time = chooser.pick(TIMES[:STAYING_TIMES] if past == "stayed at" else TIMES)
    after = "上" if after == "里" and where.english == "beach" else after
    goal = noun_phrase(where, THE)
    done = french.participle(participle, who.gender, who.plural)
    return sentence(
        (
            f"{who.english} {past} {goal.english} {time.english}.",
            f"{who.french} {french.be(who.plural)} {done} {french.contract(preposition, goal.french)} {time.french}.",
            f"{who.chinese}{time.chinese}{before}{where.chinese}{after}。",
        ),
        (who, goal),
    )


def draw_seen(chooser: Chooser) -> Sentence:
    """We saw three white horses near the castle this morning."""
    if chooser.chance(0.5):
        (in_english, in_french, _, in_chinese), who = chooser.pick(SPEAKERS), NOBODY
    else:
        who = draw_person(chooser, 0.8)
        in_english, in_french, in_chinese = who.english, f"{who.french} {french.avoir(who.plural)}", who.chinese
    where = draw_place(chooser, "beside", "nearby", "shelter", "room")
    nouns = tuple(noun for noun in tagged("animal", "person") if noun.english not in who.nouns)
    what, time = draw_indefinite(chooser, nouns), chooser.pick(TIMES)
    return sentence(
        (
            f"{in_english} saw {what.english} {where.english} {time.english}.",
            f"{in_french} vu {what.french} {where.french} {time.french}.",
            f"{in_chinese}{time.chinese}在{where.chinese}看见了{what.chinese}。",
        ),
        (who, what, where),
    )


def draw_quality(chooser: Chooser) -> Sentence:
    """These red chairs aren't comfortable."""
    what = draw_definite(chooser, tagged("animal", "person", "object", "building", "reading"))
    noun = BY_NAME[what.nouns[0]]
    groups = {GROUPS[word] for word in what.adjectives}
    choices = [one for one in predicative(noun) if one.group not in groups]
    if not choices:
        return draw_quality(chooser)
    quality = chooser.pick(choices)
    negative = chooser.chance(0.35)
    is_not = english.be(what.plural) + ("n't" if negative else "")
    agreed = french.agree(quality, what.gender, what.plural)
    be = french.be(what.plural)
    return sentence(
        (
            f"{what.english} {is_not} {quality.english}.",
            f"{what.french} {french.elide('ne', be) + ' pas' if negative else be} {agreed}.",
            f"{what.chinese}{chinese.predicate(quality, negative)}。",
        ),
        (what,),
        (quality.english,),
    )


def draw_gift(chooser: Chooser) -> Sentence:
    """Paul gave a red flower to the queen; what is known goes before the Chinese verb, with 把."""
    who = name_phrase(chooser.pick(NAMES)) if chooser.chance(0.5) else draw_person(chooser, 0.0)
    to = _recipient(chooser, who)
    past, participle, verb = chooser.pick(GIFTS)
    things = ("portable",) if past == "lent" else ("portable", "grocery")
    known = chooser.chance(0.5)
    what = (draw_definite if known else draw_indefinite)(chooser, tagged(*things), 1)
    order = f"把{what.chinese}{verb}了{to.chinese}" if known else f"{verb}了{to.chinese}{what.chinese}"
    return sentence(
        (
            f"{who.english} {past} {what.english} to {to.english}.",
            f"{who.french} {french.avoir(who.plural)} {participle} {what.french} {french.contract('à', to.french)}.",
            f"{who.chinese}{order}。",
        ),
        (who, what, to),
    )


def _recipient(chooser: Chooser, who: Phrase) -> Phrase:
    nouns = tuple(noun for noun in PEOPLE if noun.english not in who.nouns)
    names = [name for name in NAMES if name.latin != who.english]
    if chooser.chance(0.3):
        return name_phrase(chooser.pick(names))
    return noun_phrase(chooser.pick(nouns), THE, chooser.chance(0.3))


def draw_lack(chooser: Chooser) -> Sentence:
    """I don't have a bicycle: French says `pas de`, Chinese needs no measure word."""
    if chooser.chance(0.4):
        (in_english, _, in_french, in_chinese), who = chooser.pick(SPEAKERS), NOBODY
    else:
        who = draw_person(chooser)
        in_english, in_chinese = who.english, who.chinese
        in_french = f"{who.french} {french.elide('ne', french.avoir(who.plural))}"
    do = "do" if who is NOBODY or who.plural else "does"
    noun = chooser.pick(tagged("portable", "sold"))
    adjectives = draw_adjectives(chooser, noun, A)
    what = noun_phrase(noun, A, False, adjectives)
    thing = what.french.split(" ", 1)[1]
    return sentence(
        (
            f"{in_english} {do}n't have {what.english}.",
            f"{in_french} pas {french.elide('de', thing)}.",
            f"{in_chinese}没有{chinese.bare(noun, adjectives)}。",
        ),
        (who, what),
    )


def draw_ordinal(chooser: Chooser) -> Sentence:
    """Anna chose the second dress."""
    who = draw_person(chooser)
    past, participle, verb = chooser.pick(TAKINGS)
    what = noun_phrase(chooser.pick(tagged("portable", "sold")), chooser.pick(ORDINALS))
    return sentence(
        (
            f"{who.english} {past} {what.english}.",
            f"{who.french} {french.avoir(who.plural)} {participle} {what.french}.",
            f"{who.chinese}{verb}{what.chinese}。",
        ),
        (who, what),
    )
