"""Spans that no translation may change: placeholders, tags, addresses, numbers, and strings of a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.data.lines import read_lines
from regard.errors import CorpusError, InputError
from regard.text.units import units

KINDS: dict[str, str] = {
    "urls": (
        r"(?:https?|ftp)://[^\s<>\"'，。；！？（）]*[^\s<>\"'，。；！？（）.,;:!?)\]}]"
        r"|(?<![\w.-])www\.[\w.-]+\.\w{2,}(?:/[^\s<>\"']*[\w/])?"
    ),
    "emails": r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+",
    "tags": r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>",
    "entities": r"&(?:[A-Za-z]\w{1,30}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});",
    "placeholders": (
        r"\$\{[^{}\s]+\}|\{\{[^{}]+\}\}|\{[\w.:!\[\]-]*\}"
        r"|%\([\w.]+\)[-+0 #]*+\d*+(?:\.\d+)?[diouxXeEfFgGcrsa]"
        r"|%(?:\d+\$)?[-+0#]*+\d*+(?:\.\d+)?[diouxXeEfFgGcrs@](?![^\W\d_])|%%"
    ),
    "numbers": r"(?<![0-9A-Za-zÀ-ɏ])[-+−]?\d+(?:[.,:/'’\u00a0\u202f-]\d+)*(?:[eE][-+]?\d+)?",
}
"""The kinds by name, in the order in which they are looked for: what one has found is hidden from the next.

Texts come from strangers: no pattern has two ways to read the same characters, so none takes long over any text.
"""

LITERAL = "strings"
SIGNS: dict[str, tuple[str, ...]] = {
    "urls": ("://", "www."),
    "emails": ("@",),
    "tags": ("<",),
    "entities": ("&",),
    "placeholders": ("%", "{"),
}
"""Of which a text must hold one to have such a span; to look for them is much faster than to look for the span."""


@dataclass(frozen=True)
class Span:
    """A span where it stands: `text[start:stop]` of the source."""

    text: str
    kind: str
    start: int
    stop: int


class SpanFinder:
    """Finds the spans of chosen kinds, and strings of a user's own."""

    def __init__(self, kinds: Iterable[str] = tuple(KINDS), strings: Iterable[str] = ()) -> None:
        self.kinds = tuple(kinds)
        for kind in self.kinds:
            if kind not in KINDS:
                raise InputError(f"there is no kind of span {kind!r} to keep; there are: {', '.join(KINDS)}")
        literal = sorted({string for string in strings if string}, key=lambda string: -len(string))
        patterns = [(LITERAL, "|".join(_whole(string) for string in literal))] if literal else []
        patterns += [(kind, pattern) for kind, pattern in KINDS.items() if kind in self.kinds]
        self._patterns = [(kind, re.compile(pattern), SIGNS.get(kind)) for kind, pattern in patterns]

    def find(self, text: str) -> list[Span]:
        """The spans of a text, from left to right; they do not overlap."""
        found: list[Span] = []
        hidden = text
        for kind, pattern, signs in self._patterns:
            if signs is not None and not any(sign in text for sign in signs):
                continue
            own = [Span(text[slice(*match.span())], kind, *match.span()) for match in pattern.finditer(hidden)]
            if own:
                hidden = pattern.sub(lambda match: "\0" * len(match[0]), hidden)
                found += own
        return sorted((span for span in found if "\0" not in span.text), key=lambda span: span.start)


def parse_kinds(names: str) -> tuple[str, ...]:
    """The kinds of a list such as `urls,numbers`; `all` is every kind."""
    given = [name.strip() for name in names.split(",") if name.strip()]
    if not given:
        raise InputError(f"--keep needs kinds of spans, with commas between them: {', '.join(KINDS)}, or all")
    return tuple(KINDS) if given == ["all"] else tuple(given)


def read_strings(path: str | Path) -> list[str]:
    """Strings to keep, one a line of a UTF-8 file; blank lines and those that begin with `#` are left out."""
    strings = [line.strip() for line in read_lines(path)]
    strings = [string for string in strings if string and not string.startswith("#")]
    if not strings:
        raise CorpusError(f"{path}: holds no strings to keep; write one on each line")
    return strings


def _whole(string: str) -> str:
    """A pattern for a string as whole words."""
    first, last = units(string), units(string)[-1:]
    before = r"(?<!\w)" if first and first[0].text.isalnum() and first[0].text.isascii() else ""
    after = r"(?!\w)" if last and last[0].text.isalnum() and last[0].text.isascii() else ""
    return before + re.escape(string) + after
