"""Commands that use a model: translating, calibrating, measuring, scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard import figures
from regard.cli.app import app
from regard.cli.groups import grouped
from regard.options import (
    Average,
    ControlFlags,
    Engine,
    EvaluateFiles,
    Json,
    LanguageFlags,
    MeasureFlags,
    Model,
    SearchFlags,
    TranslateFiles,
)


@app.command()
@grouped
def translate(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL", help="A model folder, such as runs/demo; several are an ensemble.", show_default=False
        ),
    ],
    *,
    files: TranslateFiles,
    nbest: Annotated[
        int | None, typer.Option(metavar="N", help="Write the N best of each line: its number, score, text.")
    ] = None,
    languages: LanguageFlags,
    average: Average = "probabilities",
    engine: Engine = "regard",
    search: SearchFlags,
    control: ControlFlags,
) -> None:
    """Translate line for line, in order."""
    from regard.commands.controlling import translate_controlled
    from regard.commands.translating import Languages, TranslationFiles, translate_lines

    places = TranslationFiles(files.source, files.output, files.prefix)
    pair = Languages(languages.from_language, languages.to_language)
    if control.given:
        translate_controlled(models, places, pair, control, nbest, average, engine, **vars(search))
    else:
        translate_lines(models, places, pair, nbest, average, engine, **vars(search))


@app.command()
@grouped
def calibrate(
    model: Model,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line.", show_default=False)],
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="Right translations, aligned by line.", show_default=False)
    ],
    threshold: Annotated[
        float, typer.Option(metavar="X", help="A translation is good from this sentence chrF on.", min=0, max=100)
    ] = 50.0,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the reliability as a PNG.")] = None,
    json: Json = None,
    *,
    search: SearchFlags,
) -> None:
    """Learn how far a model's probabilities can be trusted.

    Keeps calibration.json in the model folder, which `regard translate --confidence` uses.
    """
    read = (source, reference)
    figures.check_destination(json, read=read)
    figures.check_destination(None if plot is None else str(plot), "--plot", read)
    from regard.commands.calibrating import calibrate_model, check_plot

    check_plot(plot)
    report = calibrate_model(model, source, reference, threshold, plot, **vars(search))
    figures.publish(report, json)


@app.command()
@grouped
def evaluate(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MODEL", help="A model folder, such as runs/demo; several are an ensemble.", show_default=False
        ),
    ] = None,
    *,
    files: EvaluateFiles,
    measures: MeasureFlags,
    languages: LanguageFlags,
    json: Json = None,
    search: SearchFlags,
) -> None:
    """Measure a model's or given translations.

    Prints BLEU and chrF with their signatures, and compares with another system.
    """
    read = (*files.reference, files.source, files.hypothesis, files.against)
    figures.check_destination(json, read=read)
    figures.check_destination(None if files.output is None else str(files.output), "--output", read)
    from regard.commands.evaluating import EvaluationFiles, evaluate_files
    from regard.commands.translating import Languages
    from regard.evaluate.evaluation import EvaluationOptions

    evaluation = evaluate_files(
        models or (),
        EvaluationFiles(files.reference, files.source, files.hypothesis, files.against, files.output),
        EvaluationOptions(tokenize=measures.tokenize, lowercase=measures.lowercase, samples=measures.bootstrap),
        measures.by_length,
        Languages(languages.from_language, languages.to_language),
        **vars(search),
    )
    figures.publish(evaluation, json)


@app.command()
@grouped
def score(
    model: Model,
    *,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sentences, one a line.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Their translations, aligned by line.")],
    by_token: Annotated[bool, typer.Option("--by-token", help="The mean of the tokens, not their sum.")] = False,
    languages: LanguageFlags,
    json: Json = None,
) -> None:
    """Print the log-probability of given pairs."""
    figures.check_destination(json, read=(source, target))
    from regard.commands.scoring import score_files
    from regard.commands.translating import Languages

    pair = Languages(languages.from_language, languages.to_language)
    figures.publish(score_files(model, source, target, by_token, pair), json)
