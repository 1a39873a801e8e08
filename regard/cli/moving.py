"""Commands that carry a model to another engine, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import figures
from regard.cli.app import app
from regard.options import Json, Model


@app.command()
def export(
    model: Model,
    to: Annotated[
        Literal["ctranslate2", "huggingface", "onnx"],
        typer.Option(metavar="FORMAT", help="ctranslate2, huggingface or onnx."),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write it.")],
    quantization: Annotated[
        Literal["float32", "int8"], typer.Option(metavar="NAME", help="float32, or (for ctranslate2) int8.")
    ] = "float32",
    sentences: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare on these.  [default: validation data, or built-in sentences]"),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Right translations of the sentences, aligned by line.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that is not empty.")] = False,
    json: Json = None,
) -> None:
    """Write a model in the form of another engine.

    Compares what it says there with what it says here, and keeps it only if that is the same.
    """
    figures.check_destination(json)
    from regard.portability.export import export_model

    exported = export_model(
        model, to, output, quantization=quantization, sentences=sentences, references=references, force=force
    )
    figures.publish(exported, json)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A Hugging Face model.", show_default=False)],
    output: Annotated[Path, typer.Option(metavar="MODEL", help="The model folder to write.")],
    source_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="What the model translates from.  [default: what it says itself]")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="What the model translates to.  [default: what it says itself]")
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare on these.  [default: built-in sentences]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that is not empty.")] = False,
    json: Json = None,
) -> None:
    """Read a Hugging Face model (Marian, M2M100, Pegasus) into a model folder.

    Compares the two where transformers is installed. Nothing of the folder is ever run or unpickled.
    """
    figures.check_destination(json)
    from regard.portability.importing import import_model

    imported = import_model(
        folder, output, languages=(source_language, target_language), sentences=sentences, force=force
    )
    figures.publish(imported, json)
