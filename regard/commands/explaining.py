"""`regard explain`: why a model translates a sentence as it does, as a table, a page, a figure and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard import figures
from regard.commands.translating import Languages
from regard.errors import InputError
from regard.explain.canvas import PICTURES, check_picture
from regard.explain.explained import Explanation
from regard.explain.translator import ExplainingTranslator


@dataclass(frozen=True)
class ExplanationFiles:
    """Where a page and a figure are to be written; None: nowhere."""

    page: Path | None = None
    picture: Path | None = None

    def check(self) -> None:
        """Refuse, before a model is loaded, what cannot be written."""
        for path, option in ((self.page, "--output"), (self.picture, "--png")):
            figures.check_destination(None if path is None else str(path), option)
        if self.page is not None and self.page.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{self.page}: --output is a page, so its name ends with .html; --png writes a figure")
        if self.picture is not None:
            check_picture(self.picture, "--png")


@dataclass(frozen=True)
class Explained:
    """An explanation, and the files that it was written to."""

    explanation: Explanation
    written: tuple[Path, ...]

    def to_text(self) -> str:
        lines = [self.explanation.to_text(), ""]
        lines += [f"{path}: open it in a browser" if _is_page(path) else f"{path}: the figure" for path in self.written]
        if not any(map(_is_page, self.written)):
            lines.append(
                "Attention is not proof of cause, and neither are gradients; --output page.html shows all of it"
            )
        return "\n".join(lines)

    def to_json(self) -> Mapping[str, Any]:
        return self.explanation.to_json()


def explain_sentence(
    model: Path,
    sentence: str,
    target: str | None,
    files: ExplanationFiles,
    language: Literal["en", "zh"] = "en",
    beam: int | None = None,
    languages: Languages | None = None,
) -> Explained:
    """Explain how a model translates a sentence, or what it thinks of a given target, and write what is asked for."""
    files.check()
    translator = (languages or Languages()).chosen(model, ExplainingTranslator.load(model))
    explanation = translator.explain(sentence, target, beam=beam)
    written = [path for path in (files.page, files.picture) if path is not None]
    return Explained(explanation, tuple(explanation.save(path, language) for path in written))


def _is_page(path: Path) -> bool:
    return path.suffix.lower() not in PICTURES
