"""A translator that can say why."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from regard.explain.explained import Explanation
from regard.explain.explanation import explain_pair
from regard.models.ensemble import Average
from regard.search.translator import Translator


class ExplainingTranslator(Translator):
    """A `Translator` that explains what it says, too; `regard.load(folder)` gives one."""

    name: str = ""
    """What the model is called: the name of its folder."""

    @classmethod
    def load(cls, folder: str | Path, *others: str | Path, average: Average = "probabilities") -> Self:
        """Read a model folder; with others, an ensemble that averages what their models say."""
        translator = super().load(folder, *others, average=average)
        translator.name = Path(folder).resolve().name
        return translator

    def explain(self, source: str, target: str | None = None, *, beam: int | None = None) -> Explanation:
        """Why the model translates `source` as it does, or what it thinks of a `target` that it is made to write."""
        return explain_pair(self, source, target, beam=beam, name=self.name)
