"""A plan: what a run will take, on one screen; what `regard plan` and `regard.plan` give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import Config
from regard.missing_teachers import missing_teachers
from regard.models.text_makers import check_makers
from regard.planning import STEPS
from regard.planning.estimate import Estimate, estimate, largest_batch, with_teachers
from regard.planning.facts import Facts
from regard.planning.measuring import find_facts
from regard.planning.screen import draw
from regard.planning.teachers import StandIns, stand_ins
from regard.planning.verdict import EXIT_CODES, Verdict, judge, with_worst_of
from regard.recipe import format_config
from regard.run_folder import has_begun


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
    """Find out by a few real steps what the run of a configuration would take, kept in the folder `run`.

    Teachers that are not there yet are part of it: one of each recipe is tried.
    """
    if not (config.train.teacher_recipe or has_begun(Path(run))):
        check_makers(config)
    first: list[Plan] = []
    tried: dict[str, tuple[Plan, Path]] = {}
    with stand_ins(config) as models:
        for teacher, folder in missing_teachers(config, Path(run)):
            if str(folder) in models.of:  # it teaches another one, too
                continue
            recipe = format_config(teacher.model_copy(update={"seed": 0}))
            if recipe not in tried:
                tried[recipe] = _plan(teacher, folder, steps, models), models.make(teacher, folder)
            plan, models.of[str(folder)] = tried[recipe]
            first.append(plan)
        return _plan(config, Path(run), steps, models, first)


def _plan(config: Config, run: Path, steps: int, models: StandIns, first: Sequence[Plan] = ()) -> Plan:
    """The plan of a run whose teachers are there, or have a model that stands in for them; and of what comes first."""
    facts = find_facts(models.instead(config), run, max(1, steps))
    facts = replace(facts, vocabulary_from=models.named(facts.vocabulary_from))
    expected = with_teachers(estimate(config, facts), [plan.expected for plan in first])
    verdict = judge(config, facts, expected)
    return Plan(config, facts, expected, with_worst_of(verdict, [plan.verdict for plan in first]))
