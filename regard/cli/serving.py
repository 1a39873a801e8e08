"""Commands that put models to work for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.app import app


@app.command()
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL...", help="Model folders, one for each direction.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML.", envvar="REGARD_SERVE_CONFIG")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Listen here.  [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="The port; 0: any that is free.  [default: 5000]")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(metavar="FILE", help="API keys, made by `regard api-key`; each request needs one.")
    ] = None,
    characters: Annotated[
        int | None, typer.Option(metavar="N", help="Longest text, in characters.  [default: 2000]")
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Let pages of this origin use the API; repeatable.")
    ] = None,
    log_text: Annotated[
        bool | None, typer.Option("--log-text/--no-log-text", help="Also log the texts of users.", show_default=False)
    ] = None,
    others: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any other setting; repeatable.")
    ] = None,
) -> None:
    """Serve models over HTTP: LibreTranslate's API, and more.

    A flag goes before the environment (REGARD_SERVE_PORT), and that before the file. Ctrl-C ends it well.
    """
    from regard.commands.serving import serve_models

    flags = {
        "host": host,
        "port": port,
        "keys": keys,
        "characters": characters,
        "cors": tuple(cors) if cors else None,
        "log_text": log_text,
    }
    serve_models(models or (), config, flags, others or ())


@app.command("api-key")
def api_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of keys, or one to be.", show_default=False)],
    name: Annotated[str, typer.Option(metavar="NAME", help="Whose key it is.")],
    rate: Annotated[
        int | None, typer.Option(metavar="N", help="Requests a minute; 0: any.  [default: the server's]", min=0)
    ] = None,
) -> None:
    """Make an API key for `regard serve --keys`, and print it."""
    from regard.commands.serving import make_key

    print(make_key(file, name, rate))
