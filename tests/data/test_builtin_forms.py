"""The forms of the built-in grammar: French agreement and elision, English plurals, Chinese measure words."""

from __future__ import annotations

import pytest

from regard.data.builtin import chinese, english, french
from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.adjectives import QUALITIES, REASONS
from regard.data.builtin.determiners import HER, MY, NUMBERS, ORDINALS, OUR, THE, THEIR_FEMININE, THIS, A
from regard.data.builtin.nouns_living import NAMES
from regard.data.builtin.phrases import BY_NAME, NOUNS, fitting, name_phrase, noun_phrase
from regard.data.builtin.scenes import PERSON_SCENES, SCENES
from regard.data.builtin.words import Adjective, Determiner

TWO, EIGHT, TWELVE = NUMBERS[0], NUMBERS[5], NUMBERS[7]
FIRST, SECOND = ORDINALS[:2]


def adjective(word: str, noun: str) -> Adjective:
    """The adjective of that name which fits the noun, for there is more than one `old`."""
    return next(one for one in fitting(BY_NAME[noun]) if one.english == word)


@pytest.mark.parametrize(
    ("noun", "determiner", "plural", "words", "expected"),
    [
        ("man", THE, False, "", ("the man", "l'homme", "那个男人")),
        ("hero", THE, False, "", ("the hero", "le héros", "那位英雄")),
        ("hero", THE, True, "", ("the heroes", "les héros", "那些英雄")),
        ("heroine", THE, False, "", ("the heroine", "l'héroïne", "那位女英雄")),
        ("hedge", THE, False, "", ("the hedge", "la haie", "那道树篱")),
        ("harp", MY, False, "", ("my harp", "ma harpe", "我的竖琴")),
        ("owl", THIS, False, "", ("this owl", "ce hibou", "这只猫头鹰")),
        ("owl", THE, True, "", ("the owls", "les hiboux", "那些猫头鹰")),
        ("donkey", THIS, False, "", ("this donkey", "cet âne", "这头驴")),
        ("goose", THIS, False, "", ("this goose", "cette oie", "这只鹅")),
        ("goose", THE, True, "", ("the geese", "les oies", "那些鹅")),
        ("clock", MY, False, "", ("my clock", "mon horloge", "我的钟")),
        ("plate", HER, False, "new", ("her new plate", "sa nouvelle assiette", "她的新盘子")),
        ("computer", A, False, "old", ("an old computer", "un vieil ordinateur", "一台旧电脑")),
        ("computer", A, True, "old", ("some old computers", "de vieux ordinateurs", "一些旧电脑")),
        ("hotel", THIS, False, "new", ("this new hotel", "ce nouvel hôtel", "这家新酒店")),
        ("hospital", THE, False, "beautiful", ("the beautiful hospital", "le bel hôpital", "那家漂亮的医院")),
        ("horse", TWO, True, "white", ("two white horses", "deux chevaux blancs", "两匹白色的马")),
        (
            "mouse",
            EIGHT,
            True,
            "small grey",
            ("eight small grey mice", "huit petites souris grises", "八只灰色的小老鼠"),
        ),
        ("dress", A, False, "small blue", ("a small blue dress", "une petite robe bleue", "一条蓝色的小连衣裙")),
        ("car", THE, False, "red", ("the red car", "la voiture rouge", "那辆红色的汽车")),
        ("chair", A, True, "", ("some chairs", "des chaises", "一些椅子")),
        ("chair", TWELVE, True, "brown", ("twelve brown chairs", "douze chaises marron", "十二把棕色的椅子")),
        ("hen", THE, True, "brown", ("the brown hens", "les poules marron", "那些棕色的母鸡")),
        ("newspaper", OUR, True, "", ("our newspapers", "nos journaux", "我们的报纸")),
        ("umbrella", THEIR_FEMININE, False, "", ("their umbrella", "leur parapluie", "她们的雨伞")),
        ("book", SECOND, False, "", ("the second book", "le deuxième livre", "第二本书")),
        ("orange", FIRST, False, "", ("the first orange", "la première orange", "第一个橙子")),
        ("boy", THE, True, "", ("the boys", "les garçons", "那些男孩")),
        ("king", THIS, False, "old", ("this old king", "ce vieux roi", "这位年老的国王")),
        ("cat", THE, False, "old", ("the old cat", "le vieux chat", "那只老猫")),
        ("egg", A, False, "", ("an egg", "un œuf", "一个鸡蛋")),
        ("axe", THE, True, "heavy", ("the heavy axes", "les haches lourdes", "那些沉重的斧头")),
        ("dog", A, False, "", ("a dog", "un chien", "一条狗")),
        ("letter", A, False, "", ("a letter", "une lettre", "一封信")),
    ],
)
def test_noun_phrase(
    noun: str, determiner: Determiner, plural: bool, words: str, expected: tuple[str, str, str]
) -> None:
    adjectives = tuple(adjective(word, noun) for word in words.split())
    phrase = noun_phrase(BY_NAME[noun], determiner, plural, adjectives)
    assert (phrase.english, phrase.french, phrase.chinese) == expected


@pytest.mark.parametrize(
    ("little", "words", "expected"),
    [
        ("que", "elle était", "qu'elle était"),
        ("que", "Paul", "que Paul"),
        ("que", "Antoine", "qu'Antoine"),
        ("que", "le héros", "que le héros"),
        ("de", "horloge", "d'horloge"),
        ("de", "hache", "de hache"),
        ("de", "œufs", "d'œufs"),
        ("de", "huit chats", "de huit chats"),
        ("ne", "a", "n'a"),
        ("ne", "sont", "ne sont"),
        ("même si", "il était", "même s'il était"),
        ("même si", "ils étaient", "même s'ils étaient"),
        ("même si", "elle était", "même si elle était"),
        ("est-ce que", "Emma a", "est-ce qu'Emma a"),
    ],
)
def test_elision(little: str, words: str, expected: str) -> None:
    assert french.elide(little, words) == expected


@pytest.mark.parametrize(
    ("preposition", "words", "expected"),
    [
        ("à", "le marché", "au marché"),
        ("à", "la gare", "à la gare"),
        ("à", "l'hôpital", "à l'hôpital"),
        ("à", "les reines", "aux reines"),
        ("à", "Anna", "à Anna"),
        ("de", "le parc", "du parc"),
        ("de", "l'école", "de l'école"),
        ("de", "les rois", "des rois"),
        ("près de", "le vieux pont", "près du vieux pont"),
        ("près de", "la forêt", "près de la forêt"),
        ("près de", "l'arbre", "près de l'arbre"),
    ],
)
def test_contraction(preposition: str, words: str, expected: str) -> None:
    assert french.contract(preposition, words) == expected


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("old", "vieux vieille vieux vieilles"),
        ("new", "nouveau nouvelle nouveaux nouvelles"),
        ("beautiful", "beau belle beaux belles"),
        ("good", "bon bonne bons bonnes"),
        ("white", "blanc blanche blancs blanches"),
        ("grey", "gris grise gris grises"),
        ("blue", "bleu bleue bleus bleues"),
        ("brown", "marron marron marron marron"),
        ("red", "rouge rouge rouges rouges"),
        ("expensive", "cher chère chers chères"),
        ("proud", "fier fière fiers fières"),
        ("bitter", "amer amère amers amères"),
        ("dry", "sec sèche secs sèches"),
        ("fat", "gros grosse gros grosses"),
        ("long", "long longue longs longues"),
        ("lazy", "paresseux paresseuse paresseux paresseuses"),
        ("tired", "fatigué fatiguée fatigués fatiguées"),
        ("wide", "large large larges larges"),
        ("full", "plein pleine pleins pleines"),
    ],
)
def test_adjective_agreement(word: str, forms: str) -> None:
    one = ADJECTIVES[word]
    agreed = [french.agree(one, gender, plural) for plural in (False, True) for gender in ("m", "f")]  # type: ignore[arg-type]
    assert " ".join(agreed) == forms


def test_participles_and_clitics_agree() -> None:
    forms = [french.participle("vendu", gender, plural) for plural in (False, True) for gender in ("m", "f")]  # type: ignore[arg-type]
    assert forms == ["vendu", "vendue", "vendus", "vendues"]
    assert french.object_pronoun("f", False, "met") == "la met"
    assert french.object_pronoun("m", False, "met") == "le met"
    assert french.object_pronoun("f", False, "a") == "l'a"
    assert french.object_pronoun("f", True, "ont") == "les ont"


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("fox", "foxes"), ("church", "churches"), ("story", "stories"), ("key", "keys"), ("wolf", "wolves")],
)
def test_english_plurals(singular: str, plural: str) -> None:
    assert english.plural_of(singular) == plural


def test_two_women_are_feminine_and_a_man_among_them_makes_them_masculine() -> None:
    by_name = {name.latin: name for name in NAMES}
    women = name_phrase(by_name["Marie"], by_name["Anna"])
    mixed = name_phrase(by_name["Marie"], by_name["Paul"])
    assert (women.french, women.french_pronoun, women.chinese_pronoun) == ("Marie et Anna", "elles", "她们")
    assert (mixed.french, mixed.french_pronoun, mixed.chinese_pronoun) == ("Marie et Paul", "ils", "他们")


def test_chinese_adjectives_never_stumble_over_the_noun() -> None:
    assert chinese.clashes(ADJECTIVES["big"], BY_NAME["elephant"])  # 大大象
    assert chinese.clashes(ADJECTIVES["old"], BY_NAME["tiger"])  # 老老虎
    assert chinese.clashes(ADJECTIVES["small"], BY_NAME["coat"])  # 小大衣
    assert not chinese.clashes(ADJECTIVES["small"], BY_NAME["cat"])


def test_every_noun_is_whole_and_stands_once() -> None:
    assert len(BY_NAME) == len(NOUNS)
    assert all(noun.measure and noun.chinese and noun.gender in "mf" and noun.tags for noun in NOUNS)
    plurals = [noun.english_plural for noun in NOUNS]
    assert len(set(plurals) | set(BY_NAME)) == len(plurals) * 2, "a form that is singular and plural would be ambiguous"


def test_every_adjective_is_used() -> None:
    said = {one for scene in SCENES + PERSON_SCENES for one in scene.actor_reasons}
    said |= {one for scene in SCENES + PERSON_SCENES for reasons in scene.object_reasons.values() for one in reasons}
    qualifying = {one for noun in NOUNS for one in fitting(noun)}
    compared = {ADJECTIVES["strong"]}
    assert set(REASONS) | set(QUALITIES) == said | qualifying | compared


@pytest.mark.parametrize("scene", SCENES + PERSON_SCENES, ids=lambda scene: scene.name)
def test_a_reason_tells_of_one_of_the_two_only(scene) -> None:  # type: ignore[no-untyped-def]
    of_objects = {one for reasons in scene.object_reasons.values() for one in reasons}
    assert not of_objects & set(scene.actor_reasons)
    assert all(scene.objects in BY_NAME[word].tags for word in scene.object_reasons)
