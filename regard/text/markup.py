"""HTML taken apart into passages of plain text, with the tags that stood in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import accumulate
from unicodedata import category

from regard.text.passages import Markings, Passage
from regard.text.projection import Markup

BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "col", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame",
    "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li",
    "link", "main", "menu", "meta", "nav", "noscript", "ol", "optgroup", "option", "p", "search", "section",
    "select", "source", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul",
))  # fmt: skip
KEPT_BLOCKS = frozenset(("script", "style", "pre", "textarea", "template", "iframe", "object", "audio", "video"))
KEPT_INLINE = frozenset(("code", "kbd", "samp", "var", "svg", "math"))
VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
))  # fmt: skip
ENDED_BY: dict[str, frozenset[str]] = {
    "p": BLOCKS,
    "li": frozenset(("li",)),
    "dt": frozenset(("dt", "dd")),
    "dd": frozenset(("dt", "dd")),
    "td": frozenset(("td", "th", "tr")),
    "th": frozenset(("td", "th", "tr")),
    "tr": frozenset(("tr", "tbody", "tfoot")),
    "option": frozenset(("option", "optgroup")),
}
"""Elements whose end tag may be left out, and the tags that then end them."""
DEEPEST = 64
"""Inline elements inside one another; a tag further in stands alone."""
_SPACE = re.compile(r"[ \t\r\n\f]+")
_LAST_REFERENCE = re.compile(r"&[#\w]*\Z")


def take_markup_apart(html: str) -> Markings:
    """The passages of a text of HTML. Tags that do not match are no error: they stay where they are."""
    reader = _Reader(html)
    reader.read()
    return Markings(reader.finish())


class _Reader(HTMLParser):
    """Reads tags in order; what is between block tags becomes a passage."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self._html = html
        self._lines = [0, *accumulate(len(line) + 1 for line in html.split("\n"))]
        self._parts: list[str | Passage] = []
        self._passage, self._begin = Passage(), 0
        self._open: list[int] = []
        self._kept_from: int | None = None
        self._inside_kept: list[str] = []
        self._stand_ins = 0

    def read(self) -> None:
        """Read it all; a reference at the very end, of which the parser would lose the mark, is read apart."""
        last = _LAST_REFERENCE.search(self._html)
        end = last.start() if last else len(self._html)
        self.feed(self._html[:end])
        self.close()
        self._write(unescape(self._html[end:]))

    def finish(self) -> list[str | Passage]:
        if self._kept_from is not None:
            self._keep(len(self._html))
        self._end_passage(len(self._html))
        return self._parts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._kept_from is not None and self._ends_kept(tag):
            self._keep(self._offset)
        if self._kept_from is not None:
            self._inside_kept += [] if tag in VOID else [tag]
        elif tag not in VOID and (tag in KEPT_BLOCKS or tag in KEPT_INLINE or _is_fixed(attrs)):
            self._kept_from, self._inside_kept = self._offset, [tag]
        elif tag in BLOCKS:
            self._block(self._after_tag)
        else:
            self._add_tag(tag, is_element=tag not in VOID)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if self._kept_from is not None:
            return
        if tag in BLOCKS:
            self._block(self._after_tag)
        else:
            self._add_tag(tag, is_element=False)

    def handle_endtag(self, tag: str) -> None:
        around = self._kept_from is not None and tag in BLOCKS and tag not in self._inside_kept
        if around and len(self._inside_kept) == 1 and self._inside_kept[0] in ENDED_BY:
            self._keep(self._offset)  # the end of what is around it is its end
        if self._kept_from is not None:
            if tag in self._inside_kept:
                while self._inside_kept.pop() != tag:
                    pass
                if not self._inside_kept:
                    self._inside_kept = [tag]
                    self._keep(self._after_tag)
        elif tag in BLOCKS:
            self._block(self._after_tag)
        else:
            self._close_element(tag)

    def handle_data(self, data: str) -> None:
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        self._refer(f"&{name}")

    def handle_charref(self, name: str) -> None:
        self._refer(f"&#{name}")

    def handle_comment(self, data: str) -> None:
        self._stay(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._stay(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self._stay(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self._stay(f"<?{data}>")

    def parse_html_declaration(self, i: int) -> int:
        return self._as_written(i, super().parse_html_declaration)

    def parse_bogus_comment(self, i: int, report: bool = True) -> int:
        return self._as_written(i, lambda place: super(_Reader, self).parse_bogus_comment(place, report))

    def _as_written(self, begin: int, parse: Callable[[int], int]) -> int:
        """Let the parser read a comment or a declaration, and keep it letter for letter, not as it was understood."""
        count = len(self._passage.tags)
        end = parse(begin)
        if len(self._passage.tags) > count and end > begin:
            self._passage.tags[-1] = replace(self._passage.tags[-1], opening=self.rawdata[begin:end])
        return end

    @property
    def _offset(self) -> int:
        """Where in the text the construct begins that is being read."""
        line, column = self.getpos()
        return self._lines[line - 1] + column

    @property
    def _after_tag(self) -> int:
        """Where the tag ends that is being read."""
        text = self.get_starttag_text()
        if text and self._html.startswith(text, self._offset):
            return self._offset + len(text)
        end = self._html.find(">", self._offset)
        return end + 1 if end >= 0 else len(self._html)

    @property
    def _place(self) -> int:
        return len(self._passage.text)

    @property
    def _parent(self) -> int | None:
        return self._open[-1] if self._open else None

    def _add_tag(self, tag: str, is_element: bool) -> None:
        html = self._html[self._offset : self._after_tag]
        if is_element and len(self._open) < DEEPEST:
            self._passage.tags.append(Markup(html, tag, self._place, self._place, self._parent))
            self._open.append(len(self._passage.tags) - 1)
        else:
            self._stay(html)

    def _ends_kept(self, tag: str) -> bool:
        """Whether a tag ends the element that is kept, whose own end tag may be left out."""
        return len(self._inside_kept) == 1 and tag in ENDED_BY.get(self._inside_kept[0], ())

    def _stay(self, html: str) -> None:
        if self._kept_from is None:
            self._passage.tags.append(Markup(html, None, self._place, self._place, self._parent))

    def _close_element(self, tag: str) -> None:
        html = self._html[self._offset : self._after_tag]
        if not any(self._passage.tags[index].name == tag for index in self._open):
            self._stay(html)
            return
        while True:
            index = self._open.pop()
            opened = self._passage.tags[index]
            is_it = opened.name == tag
            self._passage.tags[index] = replace(opened, stop=self._place, closing=html if is_it else "")
            if is_it:
                return

    def _refer(self, text: str) -> None:
        """A character by its name or number; a name that HTML does not know is text, as browsers show it."""
        end = self._offset + len(text)
        whole = text + (";" if self._html[end : end + 1] == ";" else "")
        meant = unescape(whole)
        kept = meant.isprintable() or meant.isspace() or all(category(each) == "Cf" for each in meant)
        self._write(meant if kept else " ")

    def _write(self, text: str) -> None:
        if self._kept_from is not None:
            return
        passage = self._passage
        if not passage.text and not passage.tags:
            body = text.lstrip(" \t\r\n\f")
            passage.before += text[: len(text) - len(body)]
            text = body
        text = _SPACE.sub(" ", text)
        passage.text += text.removeprefix(" ") if passage.text.endswith(" ") else text

    def _keep(self, end: int) -> None:
        """End what is kept: a block stands between passages, and something inline gets a stand-in in the text."""
        begin, tag = self._kept_from or 0, self._inside_kept[0]
        self._kept_from = None
        if tag in KEPT_BLOCKS or tag in BLOCKS:
            self._block(end, begin)
            return
        while (name := f"{{{self._stand_ins}}}") in self._html:
            self._stand_ins += 1
        self._stand_ins += 1
        self._passage.kept[name] = self._html[begin:end]
        self._passage.text += name

    def _block(self, end: int, begin: int | None = None) -> None:
        begin = self._offset if begin is None else begin
        self._end_passage(begin)
        self._parts.append(self._html[begin:end])
        self._begin = end

    def _end_passage(self, end: int) -> None:
        passage = self._passage
        # An element that a block tag interrupts is a lone tag on either side.
        for index in self._open:
            passage.tags[index] = replace(passage.tags[index], name=None)
        body = passage.text.rstrip(" ")
        passage.text, passage.after = body, passage.text[len(body) :]
        passage.tags = [tag.within(len(body)) for tag in passage.tags]
        passage.html = self._html[self._begin : end]
        if passage.html:
            self._parts.append(passage)
        self._passage, self._open = Passage(), []


def _is_fixed(attributes: Sequence[tuple[str, str | None]]) -> bool:
    """Whether an element says that nobody should translate it."""
    given = {name: (value or "").lower() for name, value in attributes}
    return given.get("translate") == "no" or "notranslate" in given.get("class", "").split()
