"""Commands about text: what brings a corpus, and what examines one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard import figures
from regard.cli.app import app
from regard.options import Json, Output

SourceLanguage = Annotated[str | None, typer.Option(metavar="CODE", help="Such as en.  [default: by the file's name]")]
TargetLanguage = Annotated[str | None, typer.Option(metavar="CODE", help="Such as fr.  [default: by the file's name]")]

data_app = typer.Typer(help="Bring a corpus into plain files.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.command()
def builtin(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write en-fr/ and en-zh/.")] = Path(
        "data/builtin"
    ),
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another choice of sentences.", min=0)] = 1,
) -> None:
    """Write the built-in corpus: English with its French and its Chinese, from a small grammar."""
    from regard.data.builtin import write_builtin

    for language in ("fr", "zh"):
        files = write_builtin(output / f"en-{language}", language, seed)
        print(f"{output / f'en-{language}'}: {', '.join(files)}")


@data_app.command()
def multi30k(output: Output = Path("data")) -> None:
    """Bring Multi30k into multi30k/: 29,000 captions in English, German and French."""
    from regard.data.public import bring_multi30k

    print(bring_multi30k(output))


@data_app.command()
def tatoeba(output: Output = Path("data")) -> None:
    """Bring Tatoeba's everyday sentences into tatoeba-zh-en/ and tatoeba-de-en/."""
    from regard.data.public import bring_tatoeba

    for brought in bring_tatoeba(output):
        print(brought)


@app.command()
def doctor(
    recipe: Annotated[
        Path | None,
        typer.Argument(
            metavar="RECIPE", help="Examine the training text of a recipe, instead of files.", show_default=False
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="One side, a sentence a line.")] = None,
    target: Annotated[Path | None, typer.Option(metavar="FILE", help="The other side, aligned by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="Both sides in one file (.tsv, .jsonl).")] = None,
    against: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Held-out text that must not be in it; repeatable.")
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    examples: Annotated[int, typer.Option(metavar="N", help="Places to name for each finding.")] = 10,
    json: Json = None,
) -> None:
    """Examine a corpus before training on it.

    Names faults, duplicates, leakage and wrong scripts, with file and line.
    """
    figures.check_destination(json, read=(recipe, source, target, pairs, *(against or ())))
    from regard.commands.examining import CorpusFiles, examine_files, examine_recipe

    files = CorpusFiles(source, target, pairs, source_language, target_language)
    if recipe is None:
        report = examine_files(files, against or (), examples)
    else:
        report = examine_recipe(recipe, files, against or (), examples)
    figures.publish(report, json)


@app.command()
def split(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the parts.", show_default=False)],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="One side, a sentence a line.")] = None,
    target: Annotated[Path | None, typer.Option(metavar="FILE", help="The other side, aligned by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="Both sides in one file (.tsv, .jsonl).")] = None,
    validation: Annotated[
        int | None, typer.Option(metavar="N", help="Pairs for validation.  [default: 1,000, or a twentieth]", min=0)
    ] = None,
    test: Annotated[
        int | None, typer.Option(metavar="N", help="Pairs for the test.  [default: 1,000, or a twentieth]", min=0)
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed holds other pairs out.", min=0)] = 1,
    json: Json = None,
) -> None:
    """Divide a corpus into training, validation and test.

    No sentence stands in two parts; repeated pairs are taken once, and lines that cannot be used are left out.
    """
    figures.check_destination(json, read=(source, target, pairs))
    from regard.commands.examining import CorpusFiles, divide_files

    files = CorpusFiles(source, target, pairs, source_language, target_language)
    figures.publish(divide_files(files, output, validation, test, seed), json)
