"""The command `regard`: what all its commands are hung on."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from regard import progress

ORDER = (
    *("demo", "data", "doctor", "split", "describe", "plan", "train", "distill"),
    *("translate", "calibrate", "evaluate", "score", "explain", "picture", "export", "import", "serve", "api-key"),
)
"""The commands as a user comes to need them: so they are listed."""


class _InOrder(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="regard",
    cls=_InOrder,
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
