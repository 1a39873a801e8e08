"""`regard picture`: what lectures on the Transformer draw, from this code and from trained models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from regard import figures
from regard.config import Config
from regard.data.corpus import read_pairs
from regard.data.lines import read_lines
from regard.errors import InputError, RegardError
from regard.explain.canvas import check_picture
from regard.explain.pictures.embeddings import Side, embeddings_picture
from regard.explain.pictures.heads import Part, heads_picture
from regard.explain.pictures.learning import By, curves_picture
from regard.explain.pictures.masks import masks_picture
from regard.explain.pictures.picture import Picture
from regard.explain.pictures.positions import model_positions_picture, positions_picture
from regard.explain.pictures.schedules import NOTES, schedule_picture
from regard.explain.translator import ExplainingTranslator
from regard.models.folder import load_model
from regard.recipe import load_config

LINES_COUNTED = 20_000
"""Pairs of the training text by which tokens are frequent."""


@dataclass(frozen=True)
class Drawn:
    """A picture, and where it is."""

    picture: Picture
    path: Path

    def to_text(self) -> str:
        return f"{self.picture.to_text()}\n{self.path}"

    def to_json(self) -> Mapping[str, Any]:
        return self.picture.to_json()


def check_output(output: Path) -> None:
    """Refuse, before other work is done, a picture that cannot be drawn or written."""
    figures.check_destination(str(output), "--output")
    check_picture(output)


def draw(picture: Picture, output: Path) -> Drawn:
    """Write a picture."""
    return Drawn(picture, picture.save(output))


def draw_positions(
    model: Path | None, length: int, width: int, kind: Literal["sinusoidal", "concatenated"], output: Path
) -> Drawn:
    """The positions of the paper, or those of a model."""
    check_output(output)
    if model is None:
        return draw(positions_picture(length, width, kind), output)
    return draw(model_positions_picture(load_model(model), length, model.resolve().name), output)


def draw_schedule(curves: Sequence[str], recipes: Sequence[Path], steps: int | None, output: Path) -> Drawn:
    """Schedules by width and warm-up, and of recipes; with neither, those that notes on the paper show."""
    check_output(output)
    loaded = {recipe.stem: load_config(recipe) for recipe in recipes}
    return draw(schedule_picture(curves or (() if loaded else NOTES), loaded, steps), output)


def draw_attention(
    model: Path | None, sentence: str | None, target: str | None, part: Part, masks: tuple[int, int], output: Path
) -> Drawn:
    """The masks of attention (`masks`: tokens, and padding among them), or a model's attention for a sentence."""
    check_output(output)
    if (model is None) != (sentence is None):
        raise InputError("a model's attention is that for a sentence: name both, MODEL and SENTENCE, or neither")
    if model is None or sentence is None:
        if target is not None:
            raise InputError("--target belongs to a model and a sentence: name these, too")
        return draw(masks_picture(*masks), output)
    explanation = ExplainingTranslator.load(model).explain(sentence, target)
    return draw(heads_picture(explanation, part), output)


def draw_curves(runs: Sequence[Path], by: By, output: Path) -> Drawn:
    """Learning curves of runs."""
    check_output(output)
    return draw(curves_picture(runs, by), output)


def draw_embeddings(
    model: Path, source: Path | None, target: Path | None, tokens: int, side: Side, output: Path
) -> Drawn:
    """The embeddings of the tokens that are most frequent in given texts, or in the text the model was trained on."""
    check_output(output)
    loaded = load_model(model)
    pairs = _training_pairs(loaded.config, model) if source is None and target is None else _texts(source, target)
    return draw(embeddings_picture(loaded, pairs, tokens, side, model.resolve().name), output)


def _training_pairs(config: Config, model: Path) -> Iterator[tuple[str, str]]:
    if not config.data.train:
        raise InputError(f"{model}: names no training text to count tokens in; name some with --source or --target")
    try:
        for corpus in config.data.train:
            for pair in islice(read_pairs(corpus, config.data), LINES_COUNTED):
                yield pair.source, pair.target
    except (RegardError, OSError) as error:
        raise InputError(
            f"{model}: its training text cannot be read here ({error}); name some text with --source or --target"
        ) from None


def _texts(source: Path | None, target: Path | None) -> Iterator[tuple[str, str]]:
    for path, side in ((source, 0), (target, 1)):
        if path is not None:
            for line in read_lines(path):
                yield (line, "") if side == 0 else ("", line)
