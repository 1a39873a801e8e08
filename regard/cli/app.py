"""The command `regard`: what all its commands are hung on."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from regard import progress

app = typer.Typer(
    name="regard",
    help="Train, explain and serve Transformer sequence models on the machine you have.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"regard {version('regard')}")
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    progress.show()
