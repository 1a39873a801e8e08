"""From measurements to medians, ratios and a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.table import Table

from translate_systems.systems import SYSTEMS, Setting

PAIRS = {
    "float32 / CTranslate2 float32": ("regard", "ctranslate2"),
    "int8 / CTranslate2 int8": ("regard-int8", "ctranslate2-int8"),
    "float32 / transformers": ("regard", "transformers"),
}
"""What is divided by what; each is the speed of regard over that of another."""


@dataclass
class Rounds:
    """All that was measured of one system in one discipline."""

    setting: Setting
    calibration: dict[str, float]
    """Sentences a second by setting, from short measurements that decided and count for nothing else."""
    sentences_per_second: list[float] = field(default_factory=list)
    tokens_per_second: list[float] = field(default_factory=list)
    peak_memory_mb: list[float] = field(default_factory=list)
    bleu: float | None = None

    @property
    def median(self) -> float:
        return median(self.sentences_per_second)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "setting": self.setting.to_text(), "median_sentences_per_second": self.median}


@dataclass
class Discipline:
    """One model, one beam, in batches or one sentence at a time."""

    model: str
    beam: int
    single: bool
    systems: dict[str, Rounds] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{'single' if self.single else 'batch'}, beam {self.beam}"

    @property
    def ratios(self) -> dict[str, float]:
        """Above 1, regard is faster."""
        return {
            title: self.systems[ours].median / self.systems[other].median
            for title, (ours, other) in PAIRS.items()
            if self._has(ours) and self._has(other)
        }

    def _has(self, system: str) -> bool:
        return system in self.systems and bool(self.systems[system].sentences_per_second)

    def to_json(self) -> dict[str, Any]:
        systems = {name: rounds.to_json() for name, rounds in self.systems.items() if rounds.sentences_per_second}
        return {"ratio": self.ratios, "systems": systems}

    def table(self) -> Table:
        ratios = "   ".join(f"{title}: {value:.2f}" for title, value in self.ratios.items())
        title = f"{self.model}, {self.name}"
        table = Table(title=title, caption=ratios, title_justify="left", caption_justify="left")
        table.add_column("system", no_wrap=True)
        headings = [
            "threads",
            "sent/s",
            "lowest - highest",
            "tok/s",
            *(["ms"] if self.single else []),
            "peak MB",
            "BLEU",
        ]
        for heading in headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for name, rounds in self.systems.items():
            if not rounds.sentences_per_second:
                continue
            low, high = min(rounds.sentences_per_second), max(rounds.sentences_per_second)
            table.add_row(
                SYSTEMS[name].title,
                rounds.setting.to_text(),
                f"{rounds.median:,.1f}",
                f"{low:,.1f} - {high:,.1f}",
                f"{median(rounds.tokens_per_second):,.0f}",
                *([f"{1000 / rounds.median:.2f}"] if self.single else []),
                f"{max(rounds.peak_memory_mb):,.0f}",
                "" if rounds.bleu is None else f"{rounds.bleu:.2f}",
            )
        return table
