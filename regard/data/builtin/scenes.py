"""Scenes in which `it` may stand for either noun, and the reasons that decide for which.

Somebody does, or does not do, something to a thing; a reason tells of one or of the other: the animal was too tired,
the street was too wide. In a scene a reason belongs to the actor or to the object, never to both, so that the English
sentence determines its translation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.data.builtin.adjectives import BY_NAME
from regard.data.builtin.words import Adjective


@dataclass(frozen=True, slots=True)
class Action:
    """What happened: `didn't cross`, `n'a pas traversé` and `n'ont pas traversé`, `没有穿过`."""

    english: str
    french: str
    french_plural: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Scene:
    """An action in its two outcomes, who may act on what, and which reasons tell of whom."""

    name: str
    because: Action
    """The outcome that a reason explains: it didn't cross the street because..."""
    although: Action
    """The outcome in spite of it: it crossed the street even though..."""
    actors: str
    """The tag of those who act; `person` takes names and people, whom English calls he or she."""
    objects: str
    """The tag of the things acted upon."""
    actor_reasons: tuple[Adjective, ...]
    object_reasons: dict[str, tuple[Adjective, ...]]
    """For each reason's sake: the noun, and what may be said of it."""
    chinese_by_object: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Objects that ask for another Chinese verb than the rest, for the two outcomes."""


def _adjectives(words: str) -> tuple[Adjective, ...]:
    return tuple(BY_NAME[word] for word in words.split())


def _by_noun(reasons: dict[str, str]) -> dict[str, tuple[Adjective, ...]]:
    """From `reason: nouns` to `noun: reasons`."""
    nouns: dict[str, tuple[Adjective, ...]] = {}
    for reason, words in reasons.items():
        for word in words.split():
            nouns[word] = (*nouns.get(word, ()), BY_NAME[reason])
    return nouns


def _past(english: tuple[str, str], participle: str, chinese: tuple[str, str]) -> tuple[Action, Action]:
    """The two outcomes of a verb that takes avoir: not done, done."""
    return (
        Action(english[0], f"n'a pas {participle}", f"n'ont pas {participle}", chinese[0]),
        Action(english[1], f"a {participle}", f"ont {participle}", chinese[1]),
    )


def _done(english: str, past: str, participle: str, chinese: str) -> tuple[Action, Action]:
    return _past((f"didn't {english}", past), participle, (f"没有{chinese}", f"{chinese}了"))


WALKING = "tired weak old slow lazy timid scared nervous fat small clumsy cautious proud sad"

CROSS = Scene(
    "cross",
    *_done("cross", "crossed", "traversé", "穿过"),
    "walker",
    "way",
    _adjectives(WALKING),
    _by_noun(
        {
            "wide": "street road avenue river canal stream ditch valley square field",
            "long": "street road avenue path bridge tunnel valley",
            "dangerous": "street road avenue path bridge tunnel forest desert swamp river valley lake island",
            "deep": "river lake canal stream ditch swamp valley",
            "dark": "forest tunnel street path courtyard",
            "noisy": "street road avenue square courtyard",
            "slippery": "street road path bridge",
            "narrow": "path bridge tunnel",
            "muddy": "path field road meadow courtyard",
            "big": "forest desert square field lake island meadow swamp",
        }
    ),
    {
        "bridge": ("没有走过", "走过了"),
        "river": ("没有渡过", "渡过了"),
        "lake": ("没有渡过", "渡过了"),
        "canal": ("没有渡过", "渡过了"),
        "stream": ("没有越过", "越过了"),
        "ditch": ("没有越过", "越过了"),
    },
)

CLIMB = Scene(
    "climb",
    *_done("climb", "climbed", "escaladé", "爬上"),
    "climber",
    "height",
    _adjectives(WALKING),
    _by_noun(
        {
            "high": "wall fence hill mountain cliff dune volcano rock tower",
            "steep": "hill mountain cliff dune volcano rock",
            "slippery": "wall hill cliff rock tower",
            "dangerous": "mountain cliff volcano tower",
        }
    ),
)

JUMP = Scene(
    "jump over",
    *_done("jump over", "jumped over", "sauté par-dessus", "跳过"),
    "jumper",
    "bar",
    _adjectives("tired weak old slow lazy timid scared nervous fat small clumsy cautious proud"),
    _by_noun({"high": "wall fence hedge bench", "wide": "stream ditch hedge bench", "deep": "stream ditch"}),
)

CATCH = Scene(
    "catch",
    *_past(("didn't catch", "caught"), "attrapé", ("没有抓住", "抓住了")),
    "predator",
    "prey",
    _adjectives("tired weak old slow lazy fat clumsy nervous cautious"),
    _by_noun(dict.fromkeys(("fast", "sly", "agile"), "rabbit mouse gazelle squirrel frog hen duck goose hamster")),
)

CARRY = Scene(
    "carry",
    *_past(("didn't carry", "carried"), "porté", ("没有驮", "驮起了")),
    "carrier",
    "cargo",
    _adjectives("tired weak old lazy small proud clumsy nervous"),
    _by_noun(
        {
            "heavy": "bag box basket suitcase stone barrel",
            "big": "bag box basket suitcase stone barrel",
            "dirty": "bag basket stone barrel box",
            "wet": "bag basket box suitcase",
        }
    ),
)

EAT_REASONS = _by_noun(
    {
        "hard": "apple pear carrot melon biscuit bread cheese meat",
        "sour": "apple pear orange tomato",
        "sweet": "cake biscuit melon",
        "salty": "cheese meat rice bread egg",
        "dry": "cake biscuit bread meat rice",
        "hot": "cake egg meat rice bread",
        "cold": "egg meat rice carrot tomato",
    }
)

EAT = Scene(
    "eat",
    *_done("eat", "ate", "mangé", "吃"),
    "walker",
    "food",
    _adjectives("sad nervous scared tired lazy timid cautious proud weak"),
    EAT_REASONS,
)

FIT = Scene(
    "fit",
    Action("didn't fit in", "ne rentrait pas dans", "ne rentraient pas dans", "放不进"),
    Action("fit in", "rentrait dans", "rentraient dans", "放进了"),
    "fits",
    "container",
    _adjectives("big wide"),
    _by_noun(dict.fromkeys(("small", "narrow", "full"), "bag box basket suitcase drawer wardrobe")),
)

BREAK = Scene(
    "break",
    Action("broke", "a cassé", "ont cassé", "打破了"),
    Action("didn't break", "n'a pas cassé", "n'ont pas cassé", "没有打破"),
    "missile",
    "fragile",
    _adjectives("heavy hard big"),
    _by_noun({"fragile": "lamp mirror vase bottle cup plate window", "thin": "mirror cup plate"}),
)

PERSON_EATS = Scene(
    "eat", EAT.because, EAT.although, "person", "food", _adjectives("sad nervous tired lazy proud busy"), EAT_REASONS
)

DRINK = Scene(
    "drink",
    *_done("drink", "drank", "bu", "喝"),
    "person",
    "drink",
    _adjectives("sad nervous tired lazy proud busy"),
    _by_noun(
        {
            "hot": "milk tea coffee water",
            "cold": "milk tea coffee water juice lemonade",
            "sweet": "tea coffee juice lemonade milk",
            "bitter": "tea coffee",
            "sour": "juice lemonade",
            "salty": "water",
        }
    ),
)

READ = Scene(
    "read",
    *_done("read", "read", "lu", "读"),
    "person",
    "read",
    _adjectives("tired lazy busy sad nervous proud"),
    _by_noun(dict.fromkeys(("long", "boring", "difficult"), "book novel letter newspaper poem story")),
)

BUY = Scene(
    "buy",
    *_done("buy", "bought", "acheté", "买"),
    "person",
    "bought",
    _adjectives("poor stingy busy cautious tired lazy"),
    _by_noun(
        {
            "expensive": "painting umbrella guitar violin harp hat dress shirt coat watch ring clock lamp mirror vase"
            " doll phone computer car bicycle boat suitcase wardrobe table chair bed armchair shelf house",
            "ugly": "painting umbrella hat dress shirt coat watch ring clock lamp mirror vase doll wardrobe table chair"
            " armchair house",
            "heavy": "harp coat clock computer suitcase wardrobe table bed armchair bicycle",
            "small": "hat dress shirt coat ring suitcase wardrobe table bed shelf house car boat",
        }
    ),
)

PAINT = Scene(
    "paint",
    *_done("paint", "painted", "peint", "油漆"),
    "person",
    "painted",
    _adjectives("tired lazy busy clumsy sad"),
    _by_noun(
        {
            "high": "wall fence",
            "wet": "wall fence door bench boat chair table barrel",
            "dirty": "wall fence door bench boat chair table barrel wardrobe shelf",
        }
    ),
    {"wall": ("没有粉刷", "粉刷了")},
)

SCENES = (CROSS, CROSS, CROSS, CLIMB, CLIMB, JUMP, CATCH, CARRY, EAT, FIT, FIT, BREAK)
PERSON_SCENES = (PERSON_EATS, DRINK, READ, BUY, BUY, PAINT)
