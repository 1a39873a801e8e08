"""Codes of languages, and how the languages are written."""

from __future__ import annotations

import re
from functools import lru_cache

WRITTEN_WITHOUT_SPACES = frozenset(("zh", "cmn", "yue", "ja", "th", "lo", "km", "my"))


@lru_cache(1000)
def main_language(code: str) -> str:
    """The language of a code without region or script: `zh` of `zh-CN` or `zh_Hans`."""
    return re.split(r"[-_]", code.lower(), maxsplit=1)[0]


def writes_spaces(code: str) -> bool:
    """Whether a language parts its words by spaces."""
    return main_language(code) not in WRITTEN_WITHOUT_SPACES
