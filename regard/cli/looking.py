"""Commands that show why a model said what it said, and draw what it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import figures
from regard.cli.app import app
from regard.cli.groups import grouped
from regard.cli.picturing import picture_app
from regard.options import Beam, Json, LanguageFlags, Model

app.add_typer(picture_app, name="picture")


@app.command()
@grouped
def explain(
    model: Model,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What to translate.", show_default=False)],
    *,
    target: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Make the model write this.  [default: its translation]")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to look inside (.html).")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure (.png, .svg, .pdf).")] = None,
    beam: Beam = None,
    languages: LanguageFlags,
    language: Annotated[
        Literal["en", "zh"], typer.Option(metavar="CODE", help="The language of the page: en or zh.")
    ] = "en",
    json: Json = None,
) -> None:
    """Show why a model translates a sentence as it does.

    Prints each token with its probability and what the model looked at; writes all of it as one page.
    """
    figures.check_destination(json)
    from regard.commands.explaining import ExplanationFiles, explain_sentence
    from regard.commands.translating import Languages

    files, pair = ExplanationFiles(output, png), Languages(languages.from_language, languages.to_language)
    figures.publish(explain_sentence(model, sentence, target, files, language, beam, pair), json)
