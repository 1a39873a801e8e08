"""Passages of HTML: what of it is text, and how it becomes HTML again when the text is another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from regard.text.projection import Links, Markup, place_markup
from regard.text.spans import SpanFinder

_WHOLE = SpanFinder(("urls", "emails", "placeholders"))
"""Finds what no tag may cut, stand-ins among them."""


@dataclass
class Passage:
    """The text between two block tags, and the inline tags that stood in it."""

    text: str = ""
    tags: list[Markup] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    """HTML that nobody may change, by the stand-in, such as `{0}`, that the text has in its place."""
    html: str = ""
    """The passage as it was."""
    before: str = ""
    after: str = ""

    @property
    def has_words(self) -> bool:
        bare = self.text
        for name in self.kept:
            bare = bare.replace(name, "")
        return any(character.isalpha() for character in bare)

    def finish(self, translation: str, links: Links) -> str:
        """The passage as HTML in another language; `links` are between its text and the translation."""
        whole = [(span.start, span.stop) for span in _WHOLE.find(translation)]
        placed = place_markup(self.text, translation, self.tags, links, self._written, whole)
        missing = [html for name, html in self.kept.items() if name not in translation]
        return self.before + "".join([placed, *missing]) + self.after

    def _written(self, text: str) -> str:
        written = escape(text, quote=False).replace("\u00a0", "&nbsp;")
        for name, html in self.kept.items():
            written = written.replace(name, html, 1)
        return written


@dataclass
class Markings:
    """A text of HTML: passages to translate, and between them HTML that stays as it is."""

    parts: list[str | Passage]

    @property
    def passages(self) -> list[Passage]:
        return [part for part in self.parts if isinstance(part, Passage)]

    def put_together(self, finish: Callable[[Passage], str]) -> str:
        """The whole text again, with what `finish` makes of each passage."""
        return "".join(part if isinstance(part, str) else finish(part) for part in self.parts)
