"""What can be wrong with a line or a pair, named by cause, and the tally of what was found where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

CAUSES: dict[str, str] = {
    "invalid-utf8": "not valid UTF-8",
    "nul": "a NUL character",
    "malformed": "not a line of the file's format",
    "line-break": "a line break inside a sentence",
    "empty": "nothing on one side",
    "too-long": "longer than data.max_characters",
    "ratio": "lengths that differ by more than data.max_ratio",
}
"""Every cause that makes a pair unusable, and its meaning."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, and where."""

    cause: str
    file: str
    line: int
    detail: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.detail}"


class Faults:
    """A tally of faults: exact counts by cause and file, and the first few of each cause.

    `pairs` counts the pairs that were usable and `skipped` those that were left out. One pair can have several faults,
    so the counts of causes may add up to more than `skipped`.
    """

    def __init__(self, keep: int = 5) -> None:
        self._keep = keep
        self.pairs = 0
        self.skipped = 0
        self.by_file: Counter[tuple[str, str]] = Counter()
        self.examples: dict[str, list[Fault]] = {}

    def add(self, fault: Fault) -> None:
        """Count one fault."""
        self.by_file[fault.cause, fault.file] += 1
        shown = self.examples.setdefault(fault.cause, [])
        if len(shown) < self._keep:
            shown.append(fault)

    def skip(self, faults: Iterable[Fault]) -> None:
        """Count one pair that is left out, and why."""
        self.skipped += 1
        for fault in faults:
            self.add(fault)

    @property
    def counts(self) -> dict[str, int]:
        """How many faults of each cause; causes that did not occur are absent."""
        totals: Counter[str] = Counter()
        for (cause, _), count in self.by_file.items():
            totals[cause] += count
        return {cause: totals[cause] for cause in sorted(totals, key=_rank)}

    def __bool__(self) -> bool:
        return bool(self.by_file)

    def __str__(self) -> str:
        """`12 of 29,000 pairs left out: 8 empty, 4 ratio (first: train.en:17: nothing on this side)`."""
        total = self.pairs + self.skipped
        if not self.skipped:
            return f"all {total:,} pairs can be used"
        causes = ", ".join(f"{count:,} {cause}" for cause, count in self.counts.items())
        first = next(iter(self.examples[next(iter(self.counts))]), None)
        return f"{self.skipped:,} of {total:,} pairs left out: {causes} (first: {first})"

    def to_json(self) -> dict[str, Any]:
        """Plain values: `pairs`, `skipped`, `counts` by cause, `by_file`, `examples`."""
        files: dict[str, dict[str, int]] = {}
        for (cause, file), count in self.by_file.items():
            files.setdefault(file, {})[cause] = count
        return {
            "pairs": self.pairs,
            "skipped": self.skipped,
            "counts": self.counts,
            "by_file": files,
            "examples": {cause: [asdict(fault) for fault in shown] for cause, shown in self.examples.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Faults:
        """The tally that `to_json` wrote."""
        faults = cls()
        faults.pairs, faults.skipped = values["pairs"], values["skipped"]
        for file, counts in values["by_file"].items():
            faults.by_file.update({(cause, file): count for cause, count in counts.items()})
        faults.examples = {cause: [Fault(**fault) for fault in shown] for cause, shown in values["examples"].items()}
        return faults


def _rank(cause: str) -> tuple[int, str]:
    return (list(CAUSES).index(cause), "") if cause in CAUSES else (len(CAUSES), cause)
