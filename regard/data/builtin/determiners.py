"""Determiners of the built-in grammar: articles, demonstratives, possessives, numbers, ordinals."""

from __future__ import annotations

from regard.data.builtin.words import Determiner

MEASURE = "{measure}"


def _possessive(english: str, french: tuple[str, str, str], chinese: str) -> Determiner:
    masculine, feminine, plural = french
    # mon école: before a vowel sound the masculine form serves the feminine too.
    return Determiner(
        english, english, masculine, feminine, plural, masculine, masculine, f"{chinese}的", f"{chinese}的"
    )


def _number(english: str, french: str, chinese: str) -> Determiner:
    return Determiner("", english, "", "", french, "", "", "", chinese + MEASURE)


def _ordinal(english: str, masculine: str, feminine: str, chinese: str) -> Determiner:
    he, she = f"le {masculine}", f"la {feminine}"
    return Determiner(f"the {english}", "", he, she, "", he, she, f"第{chinese}{MEASURE}", "")


THE = Determiner("the", "the", "le", "la", "les", "l'", "l'", f"那{MEASURE}", "那些")
THIS = Determiner("this", "these", "ce", "cette", "ces", "cet", "cette", f"这{MEASURE}", "这些")
A = Determiner("a", "some", "un", "une", "des", "un", "une", f"一{MEASURE}", "一些")
MY = _possessive("my", ("mon", "ma", "mes"), "我")
OUR = _possessive("our", ("notre", "notre", "nos"), "我们")
HIS = _possessive("his", ("son", "sa", "ses"), "他")
HER = _possessive("her", ("son", "sa", "ses"), "她")
THEIR_MASCULINE = _possessive("their", ("leur", "leur", "leurs"), "他们")
THEIR_FEMININE = _possessive("their", ("leur", "leur", "leurs"), "她们")

# Chinese counts things with 两, and says 二 inside larger numbers and in ordinals.
NUMBERS = (
    _number("two", "deux", "两"),
    _number("three", "trois", "三"),
    _number("four", "quatre", "四"),
    _number("five", "cinq", "五"),
    _number("six", "six", "六"),
    _number("eight", "huit", "八"),
    _number("ten", "dix", "十"),
    _number("twelve", "douze", "十二"),
)
ORDINALS = (
    _ordinal("first", "premier", "première", "一"),
    _ordinal("second", "deuxième", "deuxième", "二"),
    _ordinal("third", "troisième", "troisième", "三"),
)
