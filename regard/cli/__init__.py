"""The command line: one function a command, with no logic of its own; torch is imported only where it is needed."""

from __future__ import annotations

import sys

from regard import console
from regard.cli import corpora, learning, looking, moving, serving, using
from regard.cli.app import app

__all__ = ["app", "corpora", "learning", "looking", "main", "moving", "serving", "using"]


def main(arguments: list[str] | None = None) -> None:
    """The command `regard`."""
    console.run(lambda given: app(given, prog_name="regard"), sys.argv[1:] if arguments is None else arguments)
