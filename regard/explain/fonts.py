"""Fonts for labels: which of those that matplotlib finds have the letters of a text."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache

from regard.explain.canvas import check_matplotlib

FALLBACK = "DejaVu Sans"
"""Comes with matplotlib, as does Last Resort, which has a box for every letter and is left out here."""
PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Unifont",
)
"""Asked first for what the fallback lacks, since they have many scripts."""


def families_for(texts: Iterable[str]) -> list[str]:
    """The fonts that draw `texts`, the first that has a letter drawing it; a warning where none has one."""
    check_matplotlib()
    letters = {letter for text in texts for letter in text if not letter.isspace()}
    families, missing = _choose(frozenset(letters))
    if missing:
        shown = " ".join(sorted(missing)[:8])
        warnings.warn(
            f"no font that matplotlib finds has {shown}, so boxes stand in the picture; install a font of that script, "
            "such as Noto Sans CJK for Chinese and Japanese, and empty matplotlib's font cache",
            stacklevel=2,
        )
    return list(families)


@lru_cache(maxsize=64)
def _choose(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Font families in the order to try them, and the letters that none of them has."""
    from matplotlib.font_manager import fontManager

    chosen = [FALLBACK]
    missing = set(letters)
    by_name = {entry.name: entry.fname for entry in reversed(fontManager.ttflist)}
    known = {FALLBACK, *PREFERRED}
    others = [name for name in sorted(by_name) if name not in known and "LastResort" not in name.replace(" ", "")]
    for name in (FALLBACK, *PREFERRED, *others):
        if not missing:
            break
        if name not in by_name:
            continue
        has = _letters_of(by_name[name]) & {ord(letter) for letter in missing}
        if has and name != FALLBACK:
            chosen.append(name)
        missing = {letter for letter in missing if ord(letter) not in has}
    return tuple(chosen), frozenset(missing)


@lru_cache(maxsize=512)
def _letters_of(path: str) -> frozenset[int]:
    """The characters that a font file has, by number; none where it cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
