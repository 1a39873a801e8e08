"""Markdown: tables, texts that stay as they are, numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.evaluate.bootstrap import Interval

SPECIAL = {ord(letter): f"&#{ord(letter)};" for letter in "&<>|*_`[]\\~$#"}
"""What Markdown would take for its own, as entities."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """A text as it is, whatever Markdown would make of it."""
    return text.translate(SPECIAL)


def link(path: Path, beside: Path) -> str:
    """The way to a file from a page in the folder `beside`."""
    return Path(os.path.relpath(path, beside)).as_posix()


def quoted(card: str) -> Iterator[str]:
    """A model card as a quotation, what stands between its first two rules as code."""
    if card.startswith("---\n") and card.count("---\n") > 1:
        _, matter, rest = card.split("---\n", 2)
        card = f"```yaml\n{matter}```\n\n{rest}"
    yield from (f"> {line}".rstrip() for line in card.rstrip("\n").split("\n"))


def interval(found: Interval) -> str:
    return f"{found.low:.2f} to {found.high:.2f}"


def speed(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def between(values: Sequence[float], form: str) -> str:
    """The least and the greatest of what was measured under conditions that may differ: their mean says nothing."""
    least, greatest = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == greatest else f"{least} to {greatest}"
