"""Arguments and options that several commands share, and those that belong together, as one object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import figures
from regard.errors import InputError

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
Average = Annotated[
    Literal["probabilities", "log-probabilities"],
    typer.Option(metavar="NAME", help="What an ensemble averages: probabilities or log-probabilities."),
]
Beam = Annotated[int | None, typer.Option(metavar="N", help="Hypotheses kept; 1: greedy.  [default: the model's]")]
Engine = Annotated[
    Literal["regard", "ctranslate2"], typer.Option(metavar="NAME", help="What runs the model: regard or ctranslate2.")
]


@dataclass(frozen=True)
class LanguageFlags:
    """The languages that a user expects of a model; None: its own."""

    from_language: Annotated[
        str | None, typer.Option("--from", metavar="CODE", help="The source language; another model is refused.")
    ] = None
    to_language: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="The target language, of those that the model has.")
    ] = None


@dataclass(frozen=True)
class TranslateFiles:
    """What `translate` reads and writes."""

    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Read this.  [default: standard input]")
    ] = None
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write this.  [default: standard output]")] = None
    prefix: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each output begins with, aligned by line.")
    ] = None


@dataclass(frozen=True)
class EvaluateFiles:
    """What `evaluate` reads and writes."""

    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="Right translations; repeatable.")]
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="The sentences to translate.")] = None
    hypothesis: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Translations to measure, instead of a model's.")
    ] = None
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another system's translations, to compare with.")
    ] = None
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the model's translations there.")] = None


@dataclass(frozen=True)
class MeasureFlags:
    """How `evaluate` measures."""

    tokenize: Annotated[
        str | None, typer.Option(metavar="NAME", help="BLEU's tokenization.  [default: by the language]")
    ] = None
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Let case not matter.")] = False
    by_length: Annotated[bool, typer.Option("--by-length", help="Also by the length of the source.")] = False
    bootstrap: Annotated[int, typer.Option(metavar="N", help="Resamples of the lines, for the intervals; 0: none.")] = (
        1000
    )


@dataclass(frozen=True)
class SearchFlags:
    """How to search, by the keys of `[search]`; None: as the model's recipe says."""

    beam: Beam = None
    length_penalty: Annotated[
        Literal["paper", "mean", "none"] | None,
        typer.Option(metavar="NAME", help="paper, mean or none.  [default: the model's]"),
    ] = None
    alpha: Annotated[
        float | None, typer.Option(metavar="X", help="Strength of the length penalty.  [default: the model's]")
    ] = None
    coverage_penalty: Annotated[
        float | None, typer.Option(metavar="X", help="Take from outputs that leave a part of the source unattended.")
    ] = None
    min_length: Annotated[int | None, typer.Option(metavar="N", help="Tokens of an output at the least.")] = None
    max_length: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens of an output at the most, end mark included.")
    ] = None
    no_repeat_ngram: Annotated[int | None, typer.Option(metavar="N", help="Let no N tokens in a row come twice.")] = (
        None
    )
    max_repeats: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop an output that says the same N times in a row, with a warning."),
    ] = None
    sampling: Annotated[
        bool | None, typer.Option("--sampling/--no-sampling", help="Draw by chance.  [default: the model's]")
    ] = None
    samples: Annotated[int | None, typer.Option(metavar="N", help="Outputs drawn for each line.")] = None
    temperature: Annotated[
        float | None, typer.Option(metavar="X", help="Of sampling: below 1 safer, above 1 wilder.")
    ] = None
    top_k: Annotated[int | None, typer.Option(metavar="N", help="Draw from the N likeliest tokens alone.")] = None
    top_p: Annotated[
        float | None, typer.Option(metavar="X", help="Draw from the likeliest tokens with this share of all.")
    ] = None
    sampling_seed: Annotated[int | None, typer.Option(metavar="N", help="Another seed draws other samples.")] = None
    mbr: Annotated[
        bool | None,
        typer.Option("--mbr/--no-mbr", help="Take the output most like the others of the beam or the samples."),
    ] = None
    batch_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Source tokens in a batch.  [default: the model's]")
    ] = None
    compute: Annotated[
        Literal["float32", "int8"] | None,
        typer.Option(metavar="NAME", help="float32, or int8: faster, a little less exact.  [default: the model's]"),
    ] = None


@dataclass(frozen=True)
class ControlFlags:
    """What a user asks of `translate` besides translations."""

    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms that must be used: source TAB target on each line.")
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Keep urls,emails,tags,entities,placeholders,numbers; or all."),
    ] = None
    keep_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Strings to keep, one a line.")] = None
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write as JSON what became of terms and spans.")
    ] = None
    alignment: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write which words belong together, as 0-0 1-2.")
    ] = None
    alignment_layer: Annotated[
        int | None, typer.Option(metavar="N", help="The decoder layer to align by.  [default: by a rule]")
    ] = None
    confidence: Annotated[
        bool, typer.Option("--confidence", help="The chance that a line is good in front of it, with a TAB.")
    ] = False
    document: Annotated[
        bool, typer.Option("--document", help="The input is running text: split it, and keep its form.")
    ] = False

    @property
    def given(self) -> list[str]:
        """The flags that were given, as a user writes them."""
        return [
            f"--{name.replace('_', '-')}"
            for name, value in vars(self).items()
            if value is not None and value is not False
        ]

    def check(self, best: int | None) -> None:
        """Refuse what does not go together, before anything is read."""
        if best is not None:
            raise InputError(f"--nbest does not go with {self.given[0]}, which is about the best translation alone")
        beside = [flag for flag in self.given if flag in ("--alignment", "--confidence")]
        if self.document and beside:
            raise InputError(f"{beside[0]} goes line by line, --document does not: leave out one of them")
        if self.alignment_layer is not None and self.alignment is None:
            raise InputError("--alignment-layer says how to align: name a file with --alignment, too")
        if self.report is not None:
            if not {"--glossary", "--keep", "--keep-file"} & set(self.given):
                raise InputError("--report tells of terms and spans: give --glossary, --keep or --keep-file, too")
            if str(self.report) == figures.STANDARD_OUTPUT:
                raise InputError("--report wants the name of a file: standard output may hold the translations")
            figures.check_destination(str(self.report), "--report")
