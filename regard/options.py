"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, such as runs/demo.", show_default=False)]
Output = Annotated[Path, typer.Option(metavar="FOLDER", help="Where to put it.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Keys that override the recipe's.", show_default=False),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="[FILE]", help="Write the figures as JSON to FILE; without FILE, print them alone."),
]
Beam = Annotated[int | None, typer.Option(metavar="N", help="Hypotheses kept; 1: greedy.  [default: the model's]")]
LengthPenalty = Annotated[
    Literal["paper", "mean", "none"] | None,
    typer.Option(metavar="NAME", help="paper, mean or none.  [default: the model's]"),
]
Alpha = Annotated[
    float | None, typer.Option(metavar="X", help="Strength of the length penalty.  [default: the model's]")
]
BatchTokens = Annotated[int | None, typer.Option(metavar="N", help="Source tokens in a batch.  [default: the model's]")]
Engine = Annotated[
    Literal["regard", "ctranslate2"], typer.Option(metavar="NAME", help="What runs the model: regard or ctranslate2.")
]
