"""Translations that can be watched while they grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.search.translator import Translation, Translator

INCOMPLETE = "\ufffd"
"""What bytes become that do not form a character yet."""


def translate_watched(
    translator: Translator,
    texts: Sequence[str],
    watch: Callable[[int, str], None],
    best: int = 1,
    **options: Unpack[SearchOptions],
) -> list[list[Translation]]:
    """The `best` translations of each text, one text after the other.

    After each step `watch` hears the number of the text and the best hypothesis so far (not with sampling, which has
    none). What it raises ends the search.
    """
    search = translator._search_config(options)
    found: list[list[Translation]] = []
    for number, text in enumerate(texts):

        def show(_: int, tokens: list[int], number: int = number) -> None:
            watch(number, text_so_far(translator, tokens))

        found += translator._translate([text], search, best, None, number + 1, watch=show)
    return found


def text_so_far(translator: Translator, tokens: list[int]) -> str:
    """The text of a hypothesis that may end within a character."""
    return translator.tokenizers.target.decode(tokens).replace("\n", " ").rstrip(INCOMPLETE)
