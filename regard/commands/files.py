"""Text files that belong together."""

from __future__ import annotations

from pathlib import Path

from regard.data.lines import read_lines
from regard.errors import InputError


def aligned_lines(first: Path, *others: Path) -> list[list[str]]:
    """The lines of files that belong together: as many in each, and at least one."""
    texts = [list(read_lines(path)) for path in (first, *others)]
    for path, lines in zip(others, texts[1:], strict=True):
        if len(lines) != len(texts[0]):
            raise InputError(
                f"{first} has {len(texts[0]):,} lines and {path} has {len(lines):,}: they must be aligned line by line"
            )
    if not texts[0]:
        raise InputError(f"{first}: is empty; there is nothing to measure")
    return texts
