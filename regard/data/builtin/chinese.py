"""Chinese forms: measure words, the order of adjectives, places, and pronouns."""

from __future__ import annotations

from regard.data.builtin.words import Adjective, Determiner, Gender, Noun

THIRD_PERSON = {("person", "m"): "他", ("person", "f"): "她"}
SIZES = "大小"


def noun_phrase(noun: Noun, determiner: Determiner, plural: bool, adjectives: tuple[Adjective, ...]) -> str:
    """Determiner with the noun's measure word, adjectives with 的, plain adjectives, noun: 两只黑色的小猫."""
    start = (determiner.chinese_plural if plural else determiner.chinese).replace("{measure}", noun.measure)
    return start + bare(noun, adjectives)


def bare(noun: Noun, adjectives: tuple[Adjective, ...] = ()) -> str:
    """A noun with its adjectives and nothing before them."""
    if len(adjectives) == 2 and not adjectives[0].attributive.endswith("的"):
        adjectives = (adjectives[1], adjectives[0])
    return "".join(adjective.attributive for adjective in adjectives) + noun.chinese


def clashes(adjective: Adjective, noun: Noun) -> bool:
    """Whether the two sound wrong side by side: 大大象, 老老师, 小大衣."""
    last, first = adjective.attributive[-1], noun.chinese[0]
    return last == first or (last in SIZES and first in SIZES)


def predicate(adjective: Adjective, negative: bool = False) -> str:
    """What is said of a subject: 很贵, 不贵, 是红色的, 不是红色的."""
    if adjective.colour:
        return f"{'不' if negative else ''}是{adjective.attributive}"
    return f"{'不' if negative else '很'}{adjective.chinese}"


def pronoun(kind: str, gender: Gender, plural: bool) -> str:
    """The third person: 他 and 她 for people, 它 for animals and things, with 们 for several."""
    return THIRD_PERSON.get((kind, gender), "它") + ("们" if plural else "")
