"""Scenes of the built-in grammar: a reason decides what a pronoun stands for, and a translation is judged by it."""

from __future__ import annotations

import pytest

from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.determiners import THE
from regard.data.builtin.nouns_living import NAMES
from regard.data.builtin.phrases import BY_NAME, name_phrase, noun_phrase
from regard.data.builtin.reasons import reasoned
from regard.data.builtin.scenes import BREAK, CATCH, CROSS, FIT, READ, Scene
from regard.data.builtin.sentences import Sentence, shows_right
from regard.data.builtin.words import Name


def _scene(scene: Scene, actor: str, what: str, reason: str, although: bool = False) -> Sentence:
    phrases = (noun_phrase(BY_NAME[word.rstrip("+")], THE, word.endswith("+")) for word in (actor, what))
    return reasoned(scene, *phrases, ADJECTIVES[reason], although)


@pytest.mark.parametrize(
    ("actor", "what", "of_actor", "of_object"),
    [
        ("animal", "street", "il était trop vieux", "elle était trop longue"),
        ("cow", "bridge", "elle était trop vieille", "il était trop long"),
        ("horse", "path", "il était trop vieux", "il était trop long"),
        ("goat", "road", "elle était trop vieille", "elle était trop longue"),
        ("mules+", "tunnel", "elles étaient trop vieilles", "il était trop long"),
        ("donkey", "valleys+", "il était trop vieux", "elles étaient trop longues"),
    ],
)
def test_the_reason_decides_what_it_stands_for(actor: str, what: str, of_actor: str, of_object: str) -> None:
    actor, what = actor.replace("s+", "+"), what.replace("s+", "+")
    assert _scene(CROSS, actor, what, "old").french.endswith(f" parce qu'{of_actor}.")
    assert _scene(CROSS, actor, what, "long").french.endswith(f" parce qu'{of_object}.")


@pytest.mark.parametrize(
    ("sentence", "french", "chinese"),
    [
        (
            _scene(CATCH, "fox", "hen", "fast", although=True),
            "Le renard a attrapé la poule même si elle était très rapide.",
            "那只狐狸抓住了那只母鸡，尽管它很快。",
        ),
        (
            _scene(FIT, "hat+", "drawer", "full"),
            "Les chapeaux ne rentraient pas dans le tiroir parce qu'il était trop plein.",
            "那些帽子放不进那个抽屉，因为它太满了。",
        ),
        (
            _scene(BREAK, "stone", "mirror", "heavy"),
            "La pierre a cassé le miroir parce qu'elle était trop lourde.",
            "那块石头打破了那面镜子，因为它太重了。",
        ),
        (
            _scene(READ, "queen+", "poem+", "boring"),
            "Les reines n'ont pas lu les poèmes parce qu'ils étaient trop ennuyeux.",
            "那些王后没有读那些诗，因为它们太无聊了。",
        ),
    ],
)
def test_scenes(sentence: Sentence, french: str, chinese: str) -> None:
    assert (sentence.french, sentence.chinese) == (french, chinese)


def test_the_pronoun_is_judged_by_its_clause_alone() -> None:
    case = _scene(CROSS, "animal", "street", "wide").french_pronoun
    assert case is not None
    assert (case.english, case.antecedent, case.right) == ("it", "street", "elle")
    assert shows_right(case, "L'animal n'a pas traversé la rue parce qu'elle était trop large.")
    assert shows_right(case, "Il dit autre chose parce qu’elle était grande.")
    assert not shows_right(case, "L'animal n'a pas traversé la rue parce qu'il était trop large.")
    assert not shows_right(case, "L'animal n'a pas traversé la rue parce qu'elles étaient trop larges.")
    assert not shows_right(case, "Elle n'a pas traversé la rue.")
    assert not shows_right(case, "")


def test_people_are_he_and_she_in_chinese_too() -> None:
    who = name_phrase(_name("Marie"), _name("Anna"))
    what = noun_phrase(BY_NAME["letter"], THE, True)
    assert reasoned(READ, who, what, ADJECTIVES["busy"]).chinese == "玛丽和安娜没有读那些信，因为她们太忙了。"
    assert reasoned(READ, who, what, ADJECTIVES["long"]).chinese == "玛丽和安娜没有读那些信，因为它们太长了。"


def _name(latin: str) -> Name:
    return next(name for name in NAMES if name.latin == latin)
