"""What the doctor found, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.data.faults import CAUSES, Fault
from regard.data.leakage import Leakage

QUANTILES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "99%": 0.99, "max": 1.0}
_WITHOUT_SPACES = {"Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"}

MEANINGS: dict[str, str] = {
    "unequal-lines": "the two files do not have the same number of lines",
    **CAUSES,
    "leak": "training pairs with a sentence that also stands in a held-out set",
    "duplicate": "pairs that occur again",
    "same-source": "sources that occur again with another target",
    "copy": "pairs whose two sides are the same",
    "wrong-script": "sentences in another script than their language's",
}
"""Every cause the doctor reports, the gravest first."""

_ADVICE: dict[str, str] = {
    "unequal-lines": "no training until this is mended: find where a line is missing or doubled",
    "leak": "a score on that set would flatter the model: take these pairs out of the training text",
    "duplicate": "harmless in small numbers; many make the model learn them by heart",
    "same-source": "normal for free translation; many hint at a wrong alignment",
    "copy": "names and numbers are fine; many teach the model not to translate",
    "wrong-script": "look at them: text of another language teaches the model the wrong thing",
}
_NATURAL_SHARE = {"same-source": 1.0, "duplicate": 0.01, "copy": 0.01}
"""What part of the pairs a cause may touch before the verdict speaks of it; 0 for those not named."""


@dataclass(frozen=True)
class CorpusLines:
    """The files of a corpus and how many lines each has."""

    source: str
    target: str
    source_lines: int
    target_lines: int
    usable_pairs: int = 0


@dataclass(frozen=True)
class Finding:
    """Everything found of one cause: how often, and the first places."""

    cause: str
    count: int
    examples: list[Fault]

    def to_json(self) -> dict[str, Any]:
        places = [{"file": fault.file, "line": fault.line, "detail": fault.detail} for fault in self.examples]
        return {"cause": self.cause, "meaning": MEANINGS[self.cause], "count": self.count, "examples": places}


@dataclass(frozen=True)
class SideStatistics:
    """One language's half of the usable pairs; words only where the language puts spaces between them."""

    language: str | None
    scripts: list[str]
    characters: int
    words: int | None
    lengths: dict[str, int]

    @classmethod
    def of(
        cls, language: str | None, scripts: Sequence[str], characters: int, words: int, lengths: Counter[int]
    ) -> SideStatistics:
        """From a histogram of lengths in characters."""
        spaced = not _WITHOUT_SPACES.intersection(scripts)
        return cls(language, list(scripts), characters, words if spaced else None, _quantiles(lengths))


@dataclass(frozen=True)
class Report:
    """The state of a corpus: statistics, findings and a verdict."""

    corpora: list[CorpusLines]
    pairs: int
    usable_pairs: int
    on_bad_line: str
    findings: list[Finding]
    sides: tuple[SideStatistics, ...]
    leakage: list[Leakage]

    @property
    def usable(self) -> bool:
        """Whether `regard train` would accept the corpus under its policy for bad lines."""
        stopped = self.on_bad_line == "error" and any(finding.cause in CAUSES for finding in self.findings)
        return not self._without_usable_pair and not self.count("unequal-lines") and not stopped

    @property
    def _without_usable_pair(self) -> str | None:
        """The first corpus of which nothing could be learned: training refuses it, whatever the others hold."""
        return next((corpus.source for corpus in self.corpora if not corpus.usable_pairs), None)

    def count(self, cause: str) -> int:
        """How often a cause was found."""
        return sum(finding.count for finding in self.findings if finding.cause == cause)

    @property
    def verdict(self) -> str:
        """One sentence on whether to train on it."""
        if self.count("unequal-lines"):
            return "cannot be trained on: the files are not aligned."
        if not self.usable_pairs:
            return "cannot be trained on: there is no usable pair."
        if empty := self._without_usable_pair:
            return f"cannot be trained on: there is no usable pair in {empty}."
        if not self.usable:
            return 'cannot be trained on as it is: there are bad lines, and data.on_bad_line is "error".'
        left_out = self.pairs - self.usable_pairs
        parts = [f"{left_out:,} of {self.pairs:,} pairs will be left out"] if left_out else []
        parts += [f"look at: {', '.join(self._doubts())}"] if self._doubts() else []
        return f"can be trained on; {'; '.join(parts)}." if parts else "can be trained on; nothing to complain about."

    def _doubts(self) -> list[str]:
        return [
            finding.cause
            for finding in self._in_order()
            if finding.cause not in CAUSES
            and finding.count > _NATURAL_SHARE.get(finding.cause, 0.0) * self.usable_pairs
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same as the text says."""
        source, target = self.sides
        return {
            "usable": self.usable,
            "verdict": self.verdict,
            "pairs": self.pairs,
            "usable_pairs": self.usable_pairs,
            "on_bad_line": self.on_bad_line,
            "corpora": [asdict(corpus) for corpus in self.corpora],
            "source": asdict(source),
            "target": asdict(target),
            "findings": [finding.to_json() for finding in self._in_order()],
            "leakage": [asdict(leakage) for leakage in self.leakage],
        }

    def to_text(self) -> str:
        """The report for people."""
        parts = [self._files_text(), _statistics_text(self.sides)]
        if self.leakage:
            parts.append("\n".join(_leakage_text(leakage) for leakage in self.leakage))
        parts += [_finding_text(finding, self.on_bad_line) for finding in self._in_order()]
        return "\n\n".join([*parts, f"Verdict: {self.verdict}"]) + "\n"

    def _in_order(self) -> list[Finding]:
        order = list(MEANINGS)
        return sorted(self.findings, key=lambda finding: order.index(finding.cause))

    def _files_text(self) -> str:
        lines = [
            f"{corpus.source}: {corpus.source_lines:,} lines"
            + (f"\n{corpus.target}: {corpus.target_lines:,} lines" if corpus.target != corpus.source else "")
            for corpus in self.corpora
        ]
        return "\n".join([*lines, f"{self.pairs:,} pairs, {self.usable_pairs:,} of them usable"])


def _statistics_text(sides: Sequence[SideStatistics]) -> str:
    heading = ["", "language", "characters", "words", *QUANTILES]
    rows = [heading]
    for name, side in zip(("source", "target"), sides, strict=True):
        words = "-" if side.words is None else f"{side.words:,}"
        lengths = [f"{side.lengths[key]:,}" if side.lengths else "-" for key in QUANTILES]
        rows.append([name, side.language or "?", f"{side.characters:,}", words, *lengths])
    widths = [max(len(row[column]) for row in rows) for column in range(len(heading))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    unknown = any(not side.scripts for side in sides)
    note = ["(the script is not checked where the language is not known)"] if unknown else []
    return "\n".join([*lines, "(min to max: characters a sentence)", *note])


def _leakage_text(leakage: Leakage) -> str:
    side = f" ({leakage.side})" if leakage.side else ""
    share = leakage.seen / leakage.sentences
    return f"{leakage.file}{side}: {leakage.seen:,} of {leakage.sentences:,} sentences occur in training ({share:.1%})"


def _finding_text(finding: Finding, on_bad_line: str) -> str:
    bad_line = "left out of training" if on_bad_line == "skip" else "training would stop here"
    advice = _ADVICE.get(finding.cause, bad_line)
    lines = [f"{finding.cause}: {finding.count:,} - {MEANINGS[finding.cause]} ({advice})"]
    lines += [f"  {fault}" for fault in finding.examples]
    more = finding.count - len(finding.examples)
    return "\n".join(lines + ([f"  … and {more:,} more"] if more > 0 else []))


def _quantiles(lengths: Counter[int]) -> dict[str, int]:
    """The lengths at the QUANTILES of a histogram: the smallest that so large a part does not exceed."""
    total = sum(lengths.values())
    if not total:
        return {}
    result: dict[str, int] = {}
    passed = 0
    wanted = list(QUANTILES.items())
    for length in sorted(lengths):
        passed += lengths[length]
        while wanted and passed >= max(1, wanted[0][1] * total):
            result[wanted.pop(0)[0]] = length
    return result
