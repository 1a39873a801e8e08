"""English forms: plurals, `a` or `an`, and the verb `be`."""

from __future__ import annotations

IRREGULAR_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "mouse": "mice",
    "goose": "geese",
    "wolf": "wolves",
    "knife": "knives",
    "shelf": "shelves",
}


def plural_of(noun: str) -> str:
    """The plural of a noun: `box` gives `boxes`, `story` gives `stories`."""
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh", "potato", "tomato", "volcano", "hero")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def with_article(article: str, words: str) -> str:
    """Put an article before words; `a` becomes `an` before a vowel (no word of ours has a silent h)."""
    if article == "a" and words[0] in "aeiou":
        return f"an {words}"
    return f"{article} {words}"


def be(plural: bool) -> str:
    """`is` or `are`."""
    return "are" if plural else "is"
