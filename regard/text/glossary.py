"""Glossaries: terms of the source language, each with the term that a translation must use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from regard.data.lines import read_lines
from regard.errors import CorpusError, InputError
from regard.text.units import units

OPTIONS = {
    "case": "the source term must be written just so",
    "inflected": "the target term may get an ending",
}


@dataclass(frozen=True)
class Term:
    """One line of a glossary.

    A source term in lower case is found in any case; one with a capital only as it is written (`may`, but `May`).
    """

    source: str
    target: str
    exact_case: bool = False
    """Find the source term only as it is written, even if that is in lower case."""
    inflected: bool = False
    """Let letters follow the target term, as in `Hunde` for `Hund`."""

    @property
    def any_case(self) -> bool:
        return not self.exact_case and self.source == self.source.lower()


@dataclass(frozen=True)
class TermMatch:
    """A term where it stands in a source: `text[start:stop]`."""

    term: Term
    start: int
    stop: int


@dataclass
class Glossary:
    """Terms, found in texts longest first; of two alike, the one that is written just so."""

    terms: list[Term]
    _by_first: dict[str, list[tuple[list[str], Term]]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.terms:
            words = [unit.text for unit in units(term.source)]
            if not words or not term.target.strip():
                raise InputError(f"a term needs words on both sides, not {term.source!r} and {term.target!r}")
            self._by_first.setdefault(words[0].lower(), []).append((words, term))
        for candidates in self._by_first.values():
            candidates.sort(key=lambda candidate: (-len(candidate[1].source), candidate[1].any_case))

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """A glossary of plain pairs of source and target terms."""
        return cls([Term(source, target) for source, target in pairs])

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read `source TAB target [TAB options]` from a UTF-8 file; what is wrong is named by file and line."""
        terms: list[Term] = []
        lines: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            term = _parse(line, f"{path}:{number}")
            if term.source in lines:
                raise CorpusError(
                    f"{path}:{number}: the term {term.source!r} is on line {lines[term.source]} already; "
                    "keep one of them"
                )
            lines[term.source] = number
            terms.append(term)
        if not terms:
            raise CorpusError(f"{path}: holds no terms; write `source term TAB target term` on each line")
        return cls(terms)

    def find(self, text: str) -> list[TermMatch]:
        """The terms in a text: from left to right, at each place the longest, as whole words, not overlapping."""
        words = units(text)
        texts = [unit.text for unit in words]
        lowered = [each.lower() for each in texts]
        found: list[TermMatch] = []
        place = 0
        while place < len(words):
            match = next(
                (
                    (spelled, term)
                    for spelled, term in self._by_first.get(lowered[place], ())
                    if (lowered if term.any_case else texts)[place : place + len(spelled)] == spelled
                ),
                None,
            )
            if match is None:
                place += 1
                continue
            spelled, term = match
            stop = place + len(spelled)
            found.append(TermMatch(term, words[place].start, words[stop - 1].stop))
            place = stop
        return found


def _parse(line: str, where: str) -> Term:
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) not in (2, 3):
        raise CorpusError(
            f"{where}: has {len(columns)} column{'s' if len(columns) > 1 else ''}, not 2 or 3; write `source term TAB "
            "target term`, with options after another TAB"
        )
    source, target, *rest = columns
    options = [option.strip() for option in rest[0].split(",") if option.strip()] if rest else []
    for option in options:
        if option not in OPTIONS:
            raise CorpusError(f"{where}: there is no option {option!r}; there are: {', '.join(OPTIONS)}")
    for side, term in (("source", source), ("target", target)):
        if not units(term):
            raise CorpusError(f"{where}: the {side} term is empty; write a word on each side of the TAB")
    return Term(source, target, "case" in options, "inflected" in options)
