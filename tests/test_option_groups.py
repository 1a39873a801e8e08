"""Options that belong together reach a command as one object."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from regard.cli.groups import grouped


@dataclass(frozen=True)
class Paint:
    colour: Annotated[str, typer.Option(help="What it looks like.")] = "red"
    coats: Annotated[int | None, typer.Option(metavar="N")] = None
    glossy: Annotated[bool, typer.Option("--glossy")] = False


def application(seen: list[tuple[Path, int, Paint]]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @grouped
    def paint(
        wall: Annotated[Path, typer.Argument()], *, paint: Paint, times: Annotated[int, typer.Option()] = 1
    ) -> None:
        """Paint a wall."""
        seen.append((wall, times, paint))

    return app


def test_the_options_of_a_group_become_one_object() -> None:
    seen: list[tuple[Path, int, Paint]] = []
    app = application(seen)
    assert CliRunner().invoke(app, ["north"]).exit_code == 0
    assert CliRunner().invoke(app, ["south", "--coats", "2", "--times", "3", "--glossy"]).exit_code == 0
    assert seen == [(Path("north"), 1, Paint()), (Path("south"), 3, Paint("red", 2, True))]


def test_help_lists_them_where_the_group_stands() -> None:
    text = CliRunner().invoke(application([]), ["--help"]).output
    assert "Paint a wall." in text
    assert text.index("--colour") < text.index("--coats") < text.index("--glossy") < text.index("--times")


def test_a_wrong_value_is_refused_by_its_option() -> None:
    finished = CliRunner().invoke(application([]), ["north", "--coats", "many"])
    assert finished.exit_code == 2
    assert "--coats" in finished.output


def test_a_field_without_a_default_is_asked_for() -> None:
    @dataclass(frozen=True)
    class Ladder:
        height: Annotated[int, typer.Option()]

    app, seen = typer.Typer(), []

    @app.command()
    @grouped
    def climb(*, ladder: Ladder) -> None:
        seen.append(ladder.height)

    refused = CliRunner().invoke(app, [])
    assert refused.exit_code == 2
    assert "--height" in refused.output
    assert CliRunner().invoke(app, ["--height", "3"]).exit_code == 0
    assert seen == [3]
