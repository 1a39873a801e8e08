"""What the demonstration gives back: figures for programs, and a summary for people."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.demo.measure import SetScore, Shown, Trial
from regard.explain.reference import Trail
from regard.pipeline import TrainResult
from regard.progress import duration

COLUMNS = 80
HANDFUL = 6
NOT_PROOF = "Attention shows where a head took information from; it is not proof of cause."


@dataclass(frozen=True)
class DemoResult:
    """What was measured and seen; the percentages of `to_json` run from 0 to 100, as BLEU does."""

    training: TrainResult
    test: SetScore
    novel: SetScore
    shown: tuple[Shown, ...]
    trail: Trail
    trial: Trial
    finding: tuple[str, ...]
    seconds: float
    page: Path

    def to_json(self) -> dict[str, Any]:
        return {
            "bleu": self.test.bleu,
            "exact_match": self.test.exact_match,
            "pronoun_accuracy": self.test.pronoun_accuracy,
            "seconds": self.seconds,
            "page": str(self.page),
            "signature": self.test.signature,
            "test": asdict(self.test),
            "novel": asdict(self.novel),
            "run": str(self.training.run),
            "pairs": self.training.pairs,
            "parameters": self.training.parameters,
            "steps": self.training.outcome.steps,
            "training_seconds": self.training.outcome.seconds,
            "translations": [asdict(one) for one in self.shown],
            "trail": asdict(self.trail) | {"trial": asdict(self.trial)},
            "finding": list(self.finding),
        }

    def to_text(self) -> str:
        """A summary of at most 80 columns."""
        console = Console(file=io.StringIO(), width=COLUMNS, force_terminal=False, highlight=False)
        outcome = self.training.outcome
        console.print(
            f"Learned from {self.training.pairs:,} sentence pairs: {self.training.parameters:,} parameters, "
            f"{outcome.steps:,} steps, {duration(outcome.seconds)} ({duration(self.seconds)} with all the rest).\n"
        )
        console.print(self._scores())
        console.print(f"BLEU: {self.test.signature}\n", soft_wrap=True)
        console.print(self._translations())
        for line in (*self.finding, trial_sentence(self.trial), NOT_PROOF):
            console.print(Text("\n" + line))
        console.print(
            f"\nSee it: {self.page} (open it in a browser)\n"
            f"Try it: echo 'The cat is black.' | regard translate {self.training.run}",
            soft_wrap=True,
            markup=False,
        )
        assert isinstance(console.file, io.StringIO)
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())

    def _scores(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("", "sentences", "BLEU", "exact match", "pronoun right"):
            table.add_column(title, justify="right" if title else "left")
        for name, score in (("test", self.test), ("novel combinations", self.novel)):
            pronoun = f"{score.pronoun_accuracy:.1f} % of {score.pronoun_sentences:,}"
            row = (f"{score.sentences:,}", f"{score.bleu:.1f}", f"{score.exact_match:.1f} %", pronoun)
            table.add_row(name, *row)
        return table

    def _translations(self) -> Table:
        """A handful of sentences the model never saw, each above its translation."""
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        for one in self.shown[:HANDFUL]:
            table.add_row("", Text(one.source))
            table.add_row("✓" if one.right else "✗", Text(one.translation))
        return table


def trial_sentence(trial: Trial) -> str:
    """How the trail does on other sentences, in words."""
    share = 100 * trial.found / max(1, trial.tried)
    return (
        f"Followed in {trial.tried:,} other sentences of the test set, the same two heads lead from the pronoun to the "
        f"right noun in {share:.0f}\u00a0%."
    )
