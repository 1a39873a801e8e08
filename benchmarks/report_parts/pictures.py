"""The pictures of a report: learning curves over steps and minutes, and the attention of some sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard import progress
from regard.errors import InputError
from regard.explain.canvas import new_figure, save_picture
from regard.explain.pictures.learning import add_legend, curves_picture
from regard.explain.translator import ExplainingTranslator
from report_parts.held_out import HeldOut
from report_parts.samples import Sample


@dataclass(frozen=True)
class Drawn:
    """The attention of a sample: where it is, or why it could not be drawn."""

    sample: Sample
    path: Path | None
    reason: str = ""


def draw_curves(folders: Sequence[Path], path: Path) -> Path:
    """Loss and BLEU on validation data of all runs, over steps above and over minutes below."""
    figure = new_figure(10.5, 7.6)
    pictures = [curves_picture(folders, by) for by in ("step", "minutes")]
    measured = any(run.bleu for run in pictures[0].runs)
    panels = figure.subplots(2, 1 + measured, squeeze=False)
    for row, picture in zip(panels, pictures, strict=True):
        picture.draw_loss(row[0])
        if measured:
            picture.draw_bleu(row[1])
    add_legend(figure, panels[0][0])
    return save_picture(figure, path)


def draw_attention(model: Path, held_out: HeldOut, samples: Sequence[Sample], folder: Path) -> list[Drawn]:
    """How a model looks at the source of each sample while it writes the output that the page shows."""
    translator = held_out.languages.chosen(model, ExplainingTranslator.load(model))
    found = []
    for sample in samples:
        progress.note(f"drawing the attention of line {sample.line}")
        path = folder / f"attention-{sample.line}.png"
        try:
            translator.explain(sample.source, sample.output).save(path)
            found.append(Drawn(sample, path))
        except InputError as error:
            found.append(Drawn(sample, None, str(error)))
    return found
