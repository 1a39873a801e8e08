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
Compute = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option(metavar="NAME", help="float32, or int8: faster, a little less exact.  [default: the model's]"),
]
Engine = Annotated[
    Literal["regard", "ctranslate2"], typer.Option(metavar="NAME", help="What runs the model: regard or ctranslate2.")
]
FromLanguage = Annotated[
    str | None, typer.Option("--from", metavar="CODE", help="The source language; another model is refused.")
]
ToLanguage = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="The target language, of those that the model has.")
]

# The search of `translate`, by the keys of [search]
CoveragePenalty = Annotated[
    float | None, typer.Option(metavar="X", help="Take from outputs that leave a part of the source unattended.")
]
MinLength = Annotated[int | None, typer.Option(metavar="N", help="Tokens of an output at the least.")]
MaxLength = Annotated[int | None, typer.Option(metavar="N", help="Tokens of an output at the most, end mark included.")]
NoRepeatNgram = Annotated[int | None, typer.Option(metavar="N", help="Let no N tokens in a row come twice.")]
MaxRepeats = Annotated[
    int | None, typer.Option(metavar="N", help="Stop an output that says the same N times in a row, with a warning.")
]
Sampling = Annotated[
    bool | None, typer.Option("--sampling/--no-sampling", help="Draw by chance.  [default: the model's]")
]
Samples = Annotated[int | None, typer.Option(metavar="N", help="Outputs drawn for each line.")]
Temperature = Annotated[float | None, typer.Option(metavar="X", help="Of sampling: below 1 safer, above 1 wilder.")]
TopK = Annotated[int | None, typer.Option(metavar="N", help="Draw from the N likeliest tokens alone.")]
TopP = Annotated[float | None, typer.Option(metavar="X", help="Draw from the likeliest tokens with this share of all.")]
SamplingSeed = Annotated[int | None, typer.Option(metavar="N", help="Another seed draws other samples.")]
Mbr = Annotated[
    bool | None, typer.Option("--mbr/--no-mbr", help="Take the output most like the others of the beam or the samples.")
]
