"""`regard score`: how likely a model finds translations that are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.commands.files import aligned_lines
from regard.commands.translating import Languages
from regard.progress import task
from regard.search.scoring import Score
from regard.search.translator import Translator


@dataclass(frozen=True)
class Scores:
    """The scores of aligned pairs, in their order."""

    scores: Sequence[Score]
    by_token: bool = False

    def to_text(self) -> str:
        """A number for each pair: its log-probability, or the mean of its tokens'."""
        return "\n".join(f"{score.mean if self.by_token else score.log_probability:.4f}" for score in self.scores)

    def to_json(self) -> dict[str, Any]:
        tokens = sum(score.tokens for score in self.scores)
        log_probability = math.fsum(score.log_probability for score in self.scores)
        return {
            "pairs": len(self.scores),
            "tokens": tokens,
            "log_probability": log_probability,
            "perplexity": math.exp(min(-log_probability / tokens, 700.0)),
            "scores": [{"log_probability": score.log_probability, "tokens": score.tokens} for score in self.scores],
        }


def score_files(
    folder: Path, source: Path, target: Path, by_token: bool = False, languages: Languages | None = None
) -> Scores:
    """Score the pairs of two aligned files."""
    sources, targets = aligned_lines(source, target)
    translator = (languages or Languages()).chosen(folder, Translator.load(folder))
    with task("scoring", len(sources)) as work:
        return Scores(translator.score(sources, targets, progress=work), by_token)
