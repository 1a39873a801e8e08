"""What a report found: the figures of runs and of other systems on a test set, for people and for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from regard.errors import RegardError
from regard.evaluate.report import Evaluation
from report_parts.held_out import HeldOut, System, Translated
from report_parts.runs import FinishedRun, shown
from report_parts.samples import Samples


@dataclass(frozen=True)
class Spread:
    """The mean of some values, and their standard deviation (n - 1), which one value has not."""

    mean: float
    deviation: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(mean(values), stdev(values) if len(values) > 1 else None, len(values))

    def words(self, form: str = ".2f") -> str:
        return f"{self.mean:{form}}" + ("" if self.deviation is None else f" ± {self.deviation:{form}}")


@dataclass(frozen=True)
class Measured:
    """A system on the test set."""

    system: System
    translated: Translated
    evaluation: Evaluation

    def to_json(self) -> dict[str, Any]:
        figures = self.evaluation.to_json()
        kept = ("sentences", "bleu", "bleu_signature", "bleu_detail", "chrf", "chrf_signature", "exact_match")
        return {
            "models": [shown(folder) for folder in self.system.folders],
            "search": self.system.search.model_dump(mode="json"),
            **{name: figures[name] for name in (*kept, "bootstrap", "remarks")},
            "sentences_per_second": self.translated.sentences_per_second,
            "translated": self.translated.machine,
            "earlier_weights_on_this_test_set": self.translated.earlier,
            "other_searches_on_this_test_set": len(self.translated.other_searches),
        }


@dataclass(frozen=True)
class Several:
    """The same kind of system, once or for each run, by the name of what it is."""

    name: str
    measured: list[Measured]

    def spread(self, value: Callable[[Measured], float]) -> Spread:
        return Spread.of([value(each) for each in self.measured])

    @property
    def bleu(self) -> Spread:
        return self.spread(lambda each: each.evaluation.bleu.value)

    @property
    def chrf(self) -> Spread:
        return self.spread(lambda each: each.evaluation.chrf.value)

    @property
    def speed(self) -> Spread:
        return self.spread(lambda each: each.translated.sentences_per_second)

    def to_json(self) -> dict[str, Any]:
        spreads = {name: dataclasses.asdict(getattr(self, name)) for name in ("bleu", "chrf", "speed")}
        return {"name": self.name, **spreads, "systems": [each.to_json() for each in self.measured]}


@dataclass(frozen=True)
class Published:
    """A figure of somebody else, quoted."""

    name: str
    bleu: float

    @classmethod
    def parse(cls, text: str) -> Published:
        name, _, value = text.rpartition("=")
        try:
            figure = cls(name.strip(), float(value))
        except ValueError:
            figure = cls("", 0.0)
        if not figure.name:
            raise RegardError(f"--published {text!r}: write it as 'Name (authors, year)=41.02'")
        return figure


@dataclass(frozen=True)
class Report:
    """Runs of one recipe on a test set, beside what is published and beside other systems."""

    name: str
    command: str
    runs: list[FinishedRun]
    held_out: HeldOut
    tokenize: str | None
    """BLEU's tokenization, where one was asked for."""
    single: Several
    """Each run's model by itself, as its recipe searches."""
    also: list[Several]
    published: list[Published]
    samples: Samples
    machine: dict[str, Any]
    trained_by: list[str] = field(default_factory=list)
    """The command of each run, where a recipe was named."""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        test = {
            "source": shown(self.held_out.source),
            "references": [shown(path) for path in self.held_out.references],
            "sentences": len(self.held_out.lines),
            "source_sha256": self.held_out.sha256,
        }
        return {
            "name": self.name,
            "command": self.command,
            "machine": self.machine,
            "test": test,
            "runs": [run.to_json() for run in self.runs],
            "trained_by": self.trained_by,
            "minutes": dataclasses.asdict(Spread.of([run.minutes for run in self.runs])),
            "single": self.single.to_json(),
            "also": [each.to_json() for each in self.also],
            "published": self.published,
            "samples": self.samples.to_json(),
        }

    def to_text(self) -> str:
        lines = [f"{self.name}: {len(self.held_out.lines):,} sentences of {self.held_out.source}", ""]
        for several in (self.single, *self.also):
            count = f"{len(several.measured)} × " if len(several.measured) > 1 else ""
            scores = f"BLEU {several.bleu.words()}, chrF {several.chrf.words()}, {several.speed.mean:,.0f} sentences/s"
            lines.append(f"{count}{several.name}: {scores}")
        lines += [f"{each.name}: BLEU {each.bleu:.2f}" for each in self.published]
        first = self.single.measured[0].evaluation
        return "\n".join([*lines, "", first.bleu.signature, first.chrf.signature])
