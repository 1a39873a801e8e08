"""The sub-commands of `regard picture`, one function each; torch and matplotlib are imported where they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import figures
from regard.options import Json

picture_app = typer.Typer(
    help="Draw what lectures on the Transformer draw, from this code and from your models.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Output = Annotated[Path, typer.Option(metavar="FILE", help="Where to draw: .png, .svg or .pdf.")]
OptionalModel = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="A model folder, such as runs/demo.", show_default=False)
]


@picture_app.command()
def positions(
    model: OptionalModel = None,
    length: Annotated[int, typer.Option(metavar="N", help="Positions.")] = 50,
    width: Annotated[int, typer.Option(metavar="N", help="Elements of a vector; a model has its own.")] = 128,
    kind: Annotated[
        Literal["sinusoidal", "concatenated"],
        typer.Option(metavar="NAME", help="sinusoidal, or concatenated: all sines, then all cosines."),
    ] = "sinusoidal",
    output: Output = Path("positions.png"),
    json: Json = None,
) -> None:
    """Draw the vectors of positions: the paper's, or a model's."""
    figures.check_destination(json)
    from regard.commands.picturing import draw_positions

    figures.publish(draw_positions(model, length, width, kind, output), json)


@picture_app.command()
def schedule(
    curve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WIDTH:WARMUP", help="The paper's schedule; repeatable.  [default: 512:4000 512:8000 256:4000]"
        ),
    ] = None,
    recipe: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="The schedule of a recipe; repeatable.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="The last step.  [default: 20000, or the longest recipe's]")
    ] = None,
    output: Output = Path("schedule.png"),
    json: Json = None,
) -> None:
    """Draw the learning rate over steps."""
    figures.check_destination(json)
    from regard.commands.picturing import draw_schedule

    figures.publish(draw_schedule(curve or (), recipe or (), steps, output), json)


@picture_app.command()
def attention(
    model: OptionalModel = None,
    sentence: Annotated[
        str | None, typer.Argument(metavar="SENTENCE", help="What the model reads.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Make the model write this.  [default: its translation]")
    ] = None,
    part: Annotated[
        Literal["encoder", "decoder", "cross"], typer.Option(metavar="NAME", help="encoder, decoder or cross.")
    ] = "cross",
    length: Annotated[int, typer.Option(metavar="N", help="Of masks: tokens.")] = 10,
    padding: Annotated[int, typer.Option(metavar="N", help="Of masks: tokens at the end that are padding.")] = 3,
    output: Output = Path("attention.png"),
    json: Json = None,
) -> None:
    """Draw the masks of attention, or every layer and head of a model for a sentence."""
    figures.check_destination(json)
    from regard.commands.picturing import draw_attention

    figures.publish(draw_attention(model, sentence, target, part, (length, padding), output), json)


@picture_app.command()
def curves(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, such as runs/demo.", show_default=False)
    ],
    by: Annotated[
        Literal["step", "seconds", "minutes"],
        typer.Option(metavar="NAME", help="Over each step, or seconds or minutes of training."),
    ] = "step",
    output: Output = Path("curves.png"),
    json: Json = None,
) -> None:
    """Draw the learning curves of runs, one over the other."""
    figures.check_destination(json)
    from regard.commands.picturing import draw_curves

    figures.publish(draw_curves(runs, by, output), json)


@picture_app.command()
def embeddings(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model folder, such as runs/demo.", show_default=False)
    ],
    tokens: Annotated[int, typer.Option(metavar="N", help="How many of the most frequent tokens.")] = 200,
    side: Annotated[
        Literal["source", "target"],
        typer.Option(metavar="NAME", help="source or target, where they share no vocabulary."),
    ] = "source",
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Count tokens in this.  [default: the training text]")
    ] = None,
    target: Annotated[Path | None, typer.Option(metavar="FILE", help="And in this, of the target language.")] = None,
    output: Output = Path("embeddings.png"),
    json: Json = None,
) -> None:
    """Draw the vectors of a model's most frequent tokens on the plane in which they differ most."""
    figures.check_destination(json)
    from regard.commands.picturing import draw_embeddings

    figures.publish(draw_embeddings(model, source, target, tokens, side, output), json)
