"""Where a run stands, beside its tensors: what a checkpoint keeps as facts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from regard.data.batches import START, Position
from regard.errors import RegardError


@dataclass
class Standing:
    """Counters and choices of a run. All that happens next follows from these, the tensors and the configuration."""

    step: int = 0
    epoch: int = 0
    position: Position = START
    tokens: int = 0
    """Real target tokens learned from."""
    seconds: float = 0.0
    """Time spent in training, over all sessions."""
    best_score: float | None = None
    best_step: int = 0
    without_better: int = 0
    bad_steps: int = 0
    """Steps left out because the loss or gradient was not finite."""
    bad_in_a_row: int = 0
    scaling: dict[str, float] = field(default_factory=dict)
    """How float16's gradients are scaled; empty in other precisions."""

    def note_score(self, score: float) -> bool:
        """Count a validation; True if it is better (lower) than all before."""
        better = self.best_score is None or score < self.best_score
        self.without_better = 0 if better else self.without_better + 1
        if better:
            self.best_score, self.best_step = score, self.step
        return better

    def to_facts(self) -> dict[str, Any]:
        return {**asdict(self), "position": self.position.to_json()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any], checkpoint: Path) -> Standing:
        """What `to_facts` wrote into a checkpoint; RegardError where another version wrote something else."""
        known = {field.name for field in fields(cls)}
        for key in sorted(known ^ facts.keys()):
            unlike = f"its facts {'lack' if key in known else 'have'} `{key}`"
            raise RegardError(
                f"{checkpoint}: another version of regard made this checkpoint, for {unlike}; go on with that version, "
                "or choose another folder with --run"
            )
        return cls(**{**facts, "position": Position.from_json(facts["position"])})
