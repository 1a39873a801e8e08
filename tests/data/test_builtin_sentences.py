"""Sentences of the built-in grammar, checked by hand in the three languages."""

from __future__ import annotations

import pytest

from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.corpus import PATTERNS
from regard.data.builtin.determiners import THE
from regard.data.builtin.phrases import BY_NAME, name_phrase, noun_phrase
from regard.data.builtin.reasons import reasoned
from regard.data.builtin.scenes import BREAK, CATCH, CROSS, FIT, READ, Scene
from regard.data.builtin.sentences import Sentence, shows_right
from regard.data.builtin.words import Chooser

TRIPLES = """
@TRIPLES@
""".strip().splitlines()


@pytest.fixture(scope="module")
def language() -> dict[str, Sentence]:
    """A large part of the language: every pattern, drawn many times."""
    chooser = Chooser(20)
    return {one.english: one for draw, _ in PATTERNS for one in (draw(chooser) for _ in range(9000))}


@pytest.mark.parametrize("line", TRIPLES)
def test_sentence_checked_by_hand(line: str, language: dict[str, Sentence]) -> None:
    in_english, in_french, in_chinese = line.split(" | ")
    sentence = language[in_english]
    assert (sentence.french, sentence.chinese) == (in_french, in_chinese)


def test_one_translation_for_each_source() -> None:
    chooser = Chooser(21)
    known: dict[str, tuple[str, str]] = {}
    for draw, share in PATTERNS:
        for _ in range(300 * share):
            one = draw(chooser)
            assert known.setdefault(one.english, (one.french, one.chinese)) == (one.french, one.chinese)
    assert len(known) > 20_000


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


def test_every_reference_shows_its_own_pronoun_right_and_another_gender_wrong(language: dict[str, Sentence]) -> None:
    swapped = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils", "le": "la", "la": "le"}
    judged = 0
    for one in language.values():
        for case, text in ((one.french_pronoun, one.french), (one.chinese_pronoun, one.chinese)):
            if case is not None:
                assert shows_right(case, text), (case, text)
        case = one.french_pronoun
        if case is not None and case.right in swapped and "'" not in case.right:
            wrong = swapped[case.right]
            for before in ("qu'", "même si ", "même s'", "et ", "ne "):
                changed = one.french.replace(f"{before}{case.right} ", f"{before}{wrong} ")
                if changed != one.french:
                    judged += 1
                    assert not shows_right(case, changed), (case, changed)
    assert judged > 10_000


def test_a_participle_shows_the_gender_that_elision_hides(language: dict[str, Sentence]) -> None:
    case = language["Paul found the key and lost it."].french_pronoun
    assert case is not None
    assert case.right == "l'a perdue"
    assert not shows_right(case, "Paul a trouvé la clé et l'a perdu.")


def test_people_are_he_and_she_in_chinese_too() -> None:
    who = name_phrase(_name("Marie"), _name("Anna"))
    what = noun_phrase(BY_NAME["letter"], THE, True)
    assert reasoned(READ, who, what, ADJECTIVES["busy"]).chinese == "玛丽和安娜没有读那些信，因为她们太忙了。"
    assert reasoned(READ, who, what, ADJECTIVES["long"]).chinese == "玛丽和安娜没有读那些信，因为它们太长了。"


def _name(latin: str):  # type: ignore[no-untyped-def]
    from regard.data.builtin.nouns_living import NAMES

    return next(name for name in NAMES if name.latin == latin)
