"""Prefixes: target text that an output is to begin with, checked line by line and cut into tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.config import SearchConfig
from regard.data.tokenizer import Tokenizer
from regard.errors import InputError
from regard.search.rules import length_limits
from regard.search.texts import check_texts


def check_prefixes(prefixes: Sequence[str], texts: Sequence[str], first_line: int = 1) -> None:
    """Refuse beginnings that do not go with the texts one to one."""
    if len(prefixes) != len(texts):
        raise InputError(
            f"{len(prefixes)} prefixes for {len(texts)} texts: each text needs its own, if only an empty one"
        )
    try:
        check_texts(prefixes, first_line)
    except InputError as error:
        raise InputError(f"prefixes: {error}") from None
    for number, (prefix, text) in enumerate(zip(prefixes, texts, strict=True), start=first_line):
        if prefix.strip() and not text.strip():
            raise InputError(f"line {number} is blank, but has a prefix; are the two aligned?")


def encode_prefixes(tokenizer: Tokenizer, prefixes: Sequence[str]) -> list[list[int]]:
    """The tokens of each prefix. Spaces at its end are left to the token that follows, which brings its own."""
    return tokenizer.encode_batch([prefix.rstrip() for prefix in prefixes])


def check_room(
    beginnings: Sequence[Sequence[int]],
    sources: Sequence[Sequence[int]],
    lines: Sequence[int],
    config: SearchConfig,
    longest: int | None,
) -> None:
    """Refuse a prefix that leaves no room for more; `sources` have their end marks, `lines` their numbers."""
    for beginning, source, line in zip(beginnings, sources, lines, strict=True):
        limit = int(length_limits(torch.ones(1, len(source)), config, longest))
        if len(beginning) >= limit:
            raise InputError(
                f"line {line}: its prefix has {len(beginning)} tokens, but the output may have no more than {limit}, "
                "its end mark included; shorten it, or raise `search.max_length_extra` or `search.max_length`"
            )
