"""A plan: what a run will take, on one screen; what `regard plan` and `regard.plan` give."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.config import Config
from regard.planning import STEPS
from regard.planning.estimate import Estimate, estimate, largest_batch
from regard.planning.facts import Facts
from regard.planning.measuring import find_facts
from regard.planning.screen import draw
from regard.planning.verdict import EXIT_CODES, Verdict, judge


@dataclass(frozen=True)
class Plan:
    """What a run will take, and whether it is worth starting."""

    config: Config
    facts: Facts
    expected: Estimate
    verdict: Verdict

    @property
    def exit_code(self) -> int:
        """0 if the run fits, 3 if it does with a change, 4 if it is hopeless."""
        return EXIT_CODES[self.verdict.level]

    def to_text(self) -> str:
        return draw(self.config, self.facts, self.expected, self.verdict)

    def to_json(self) -> dict[str, Any]:
        time = self.expected.time
        return {
            "verdict": asdict(self.verdict),
            "expected": {
                **asdict(self.expected),
                "time": None if time is None else {**asdict(time), "total": time.total},
                "largest_batch_tokens": largest_batch(self.facts),
            },
            "measured": asdict(self.facts),
        }


def plan_run(config: Config, run: str | Path, steps: int = STEPS) -> Plan:
    """Find out by a few real steps what the run of a configuration would take, kept in the folder `run`."""
    facts = find_facts(config, Path(run), max(1, steps))
    expected = estimate(config, facts)
    return Plan(config, facts, expected, judge(config, facts, expected))
