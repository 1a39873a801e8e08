"""Attention as one self-contained HTML page: no network, a strict content policy, every text set as text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from regard.errors import RegardError
from regard.explain.capture import AttentionMaps
from regard.web.bundle import content_policy, json_for_html

Tone = Literal["", "a", "b"]
"""A colour of the page: `a` and `b` stand for the two nouns, "" for plain ink."""


@dataclass(frozen=True)
class Text:
    """Some words and their tone."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class ShareBar:
    """A bar: how much attention one word gets in the chosen heads (`weight`) and in all on average (`mean`)."""

    word: str
    tone: Tone
    weight: float
    mean: float


@dataclass(frozen=True)
class Link:
    """A word in a chain of words that look at one another, and how much it looks at the next one."""

    word: str
    tone: Tone
    weight: float | None = None


@dataclass(frozen=True)
class HeadOnPage:
    """A head to show; no head: the mean of the layer; no layer: the mean of all. Both count from 0."""

    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class CellBar:
    """A weight shown as a small bar under each thumbnail: row and column of one sentence's map."""

    label: str
    row: int
    column: int
    tone: Tone


@dataclass(frozen=True)
class SentenceView:
    """A sentence pair on the page. `maps` are those of whole words; tones are given by word position."""

    label: str
    source_text: str
    target_text: str
    maps: AttentionMaps
    source_tones: Mapping[int, Tone] = field(default_factory=dict)
    target_tones: Mapping[int, Tone] = field(default_factory=dict)
    line_tones: Mapping[int, Tone] = field(default_factory=dict)
    focus: int | None = None
    """The source word that is singled out at first."""
    chain: Sequence[Link] = ()
    shares: Sequence[ShareBar] = ()

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("label", "source_text", "target_text", "focus")}
        tones = {name: dict(getattr(self, name)) for name in ("source_tones", "target_tones", "line_tones")}
        lists = {name: [asdict(item) for item in getattr(self, name)] for name in ("chain", "shares")}
        return values | tones | lists | {"maps": self.maps.to_json()}


@dataclass(frozen=True)
class Section:
    """A part of the page: one kind of attention as lines or as heat maps, with a picker of layers and heads."""

    part: Literal["encoder", "decoder", "cross"]
    style: Literal["lines", "heat"]
    title: str
    text: str
    choice: HeadOnPage = HeadOnPage()
    verb: str = "looks at"
    bars: Sequence[CellBar] = ()
    """One for each sentence, in their order, or none."""
    picker_note: str = ""


@dataclass(frozen=True)
class Note:
    """A heading and a paragraph at the foot of the page."""

    title: str
    text: str


@dataclass(frozen=True)
class AttentionPage:
    """All that a page says and shows."""

    title: str
    lead: str
    languages: tuple[str, str]
    finding: Sequence[Sequence[Text]]
    views: Sequence[SentenceView]
    sections: Sequence[Section]
    notes: Sequence[Note] = ()
    facts: Sequence[tuple[str, str]] = ()
    shares_note: str = ""
    foot: str = ""

    def to_json(self) -> dict[str, Any]:
        """What the script of the page reads."""
        return {
            "title": self.title,
            "lead": self.lead,
            "languages": dict(zip(("source", "target"), self.languages, strict=True)),
            "finding": [[asdict(part) for part in paragraph] for paragraph in self.finding],
            "facts": [list(fact) for fact in self.facts],
            "views": [view.to_json() for view in self.views],
            "sections": [asdict(section) for section in self.sections],
            "notes": [asdict(note) for note in self.notes],
            "shares_note": self.shares_note,
            "foot": self.foot,
        }


def render_page(page: AttentionPage) -> str:
    """The page as HTML text; its style and script are the only ones that its policy lets run."""
    style = _asset("page.css")
    script = _asset("draw.js") + _asset("page.js")
    parts = {
        "policy": html.escape(content_policy(style, script, images="data:")),
        "title": html.escape(page.title).encode(errors="replace").decode(),
        "style": style,
        "script": script,
        "data": json_for_html(page.to_json()),
    }
    # One pass, so that braces inside a part are never taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))


def write_page(page: AttentionPage, path: Path) -> Path:
    """Write the page to one file that opens from the disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render_page(page), encoding="utf-8", newline="\n")
    except OSError as error:
        raise RegardError(f"{path}: the page cannot be written ({error.strerror}); choose another place") from None
    return path


def _asset(name: str) -> str:
    return resources.files("regard.explain").joinpath("assets", name).read_text(encoding="utf-8")
