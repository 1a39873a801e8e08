"""What became of the terms and spans of controlled translations, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.search.translator import Translation


@dataclass(frozen=True)
class TermUse:
    """A term of the glossary that a source has."""

    source: str
    target: str
    source_start: int
    """Its first character in the source, counted from 0."""
    target_start: int | None
    """Its first character in the translation; None where it is missing."""
    problem: str | None = None
    """Why it is missing."""

    @property
    def met(self) -> bool:
        return self.target_start is not None


@dataclass(frozen=True)
class SpanUse:
    """A span that was to be kept."""

    text: str
    kind: str
    source_start: int
    placed: bool
    """Whether the model placed it."""
    inserted: bool
    """Whether it was put in afterwards, where the alignment suggests, as tags always are."""
    target_start: int


@dataclass(frozen=True)
class ControlledTranslation:
    """A translation, and what became of its terms and spans."""

    translation: Translation
    terms: tuple[TermUse, ...] = ()
    spans: tuple[SpanUse, ...] = ()

    @property
    def text(self) -> str:
        return self.translation.text


@dataclass
class ControlReport:
    """The terms and spans of a whole text, gathered line by line; lines without any are only counted."""

    lines: int = 0
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, translations: Sequence[ControlledTranslation]) -> None:
        """Take the next lines, in order."""
        for translation in translations:
            self.lines += 1
            if translation.terms or translation.spans:
                terms = [{**vars(use), "met": use.met} for use in translation.terms]
                spans = [dict(vars(use)) for use in translation.spans]
                self.entries.append({"line": self.lines, "text": translation.text, "terms": terms, "spans": spans})

    @property
    def totals(self) -> dict[str, int]:
        terms = [use for entry in self.entries for use in entry["terms"]]
        spans = [use for entry in self.entries for use in entry["spans"]]
        return {
            "lines": self.lines,
            "lines_with_terms": sum(bool(entry["terms"]) for entry in self.entries),
            "terms": len(terms),
            "terms_met": sum(use["met"] for use in terms),
            "lines_with_spans": sum(bool(entry["spans"]) for entry in self.entries),
            "spans": len(spans),
            "spans_placed": sum(use["placed"] for use in spans),
            "spans_inserted": sum(use["inserted"] for use in spans),
        }

    def to_json(self) -> dict[str, Any]:
        return {"totals": self.totals, "lines": self.entries}

    def to_text(self) -> str:
        """A line for terms and one for spans, and a line for each term that is missing."""
        totals = self.totals
        parts = []
        if totals["terms"]:
            parts.append(
                f"terms: {totals['terms_met']:,} of {totals['terms']:,} used {_lines(totals['lines_with_terms'])}"
            )
        if totals["spans"]:
            parts.append(
                f"spans: {totals['spans']:,} kept {_lines(totals['lines_with_spans'])}, "
                f"{totals['spans_inserted']:,} of them put in by the alignment"
            )
        missing = [(entry["line"], use) for entry in self.entries for use in entry["terms"] if not use["met"]]
        parts += [f"line {line}: the term {use['target']!r} {use['problem']}" for line, use in missing]
        return "\n".join(parts) or "no terms and no spans to keep were found"


def _lines(count: int) -> str:
    return f"in {count:,} line{'' if count == 1 else 's'}"
