"""Commands that use a model: translating, calibrating, measuring, scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard import figures
from regard.cli.app import app
from regard.cli.groups import grouped
from regard.options import Average, ControlFlags, Engine, FromLanguage, Json, Model, SearchFlags, ToLanguage


@app.command()
@grouped
def translate(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL", help="A model folder, such as runs/demo; several are an ensemble.", show_default=False
        ),
    ],
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Read this.  [default: standard input]")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write this.  [default: standard output]")] = None,
    nbest: Annotated[
        int | None, typer.Option(metavar="N", help="Write the N best of each line: its number, score, text.")
    ] = None,
    from_language: FromLanguage = None,
    to_language: ToLanguage = None,
    prefix: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each output begins with, aligned by line.")
    ] = None,
    average: Average = "probabilities",
    engine: Engine = "regard",
    *,
    search: SearchFlags,
    control: ControlFlags,
) -> None:
    """Translate line for line, in order."""
    from regard.commands.controlling import translate_controlled
    from regard.commands.translating import Languages, TranslationFiles, translate_lines

    files, languages = TranslationFiles(source, output, prefix), Languages(from_language, to_language)
    if control.given:
        translate_controlled(models, files, languages, control, nbest, average, engine, **vars(search))
    else:
        translate_lines(models, files, languages, nbest, average, engine, **vars(search))


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
    figures.check_destination(json)
    from regard.commands.calibrating import calibrate_model, check_plot

    check_plot(plot)
    report = calibrate_model(model, source, reference, threshold, plot, **vars(search))
    figures.publish(report, json)


@app.command()
@grouped
def evaluate(
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="Right translations; repeatable.")],
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MODEL", help="A model folder, such as runs/demo; several are an ensemble.", show_default=False
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="The sentences to translate.")] = None,
    hypothesis: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Translations to measure, instead of a model's.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another system's translations, to compare with.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the model's translations there.")] = None,
    tokenize: Annotated[
        str | None, typer.Option(metavar="NAME", help="BLEU's tokenization.  [default: by the language]")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Let case not matter.")] = False,
    by_length: Annotated[bool, typer.Option("--by-length", help="Also by the length of the source.")] = False,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", help="Resamples of the lines, for the intervals; 0: none.")
    ] = 1000,
    from_language: FromLanguage = None,
    to_language: ToLanguage = None,
    json: Json = None,
    *,
    search: SearchFlags,
) -> None:
    """Measure a model's or given translations.

    Prints BLEU and chrF with their signatures, and compares with another system.
    """
    figures.check_destination(json)
    from regard.commands.evaluating import EvaluationFiles, evaluate_files
    from regard.commands.translating import Languages
    from regard.evaluate.evaluation import EvaluationOptions

    evaluation = evaluate_files(
        models or (),
        EvaluationFiles(reference, source, hypothesis, against, output),
        EvaluationOptions(tokenize=tokenize, lowercase=lowercase, samples=bootstrap),
        by_length,
        Languages(from_language, to_language),
        **vars(search),
    )
    figures.publish(evaluation, json)


@app.command()
def score(
    model: Model,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sentences, one a line.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Their translations, aligned by line.")],
    by_token: Annotated[bool, typer.Option("--by-token", help="The mean of the tokens, not their sum.")] = False,
    from_language: FromLanguage = None,
    to_language: ToLanguage = None,
    json: Json = None,
) -> None:
    """Print the log-probability of given pairs."""
    figures.check_destination(json)
    from regard.commands.scoring import score_files
    from regard.commands.translating import Languages

    languages = Languages(from_language, to_language)
    figures.publish(score_files(model, source, target, by_token, languages), json)
