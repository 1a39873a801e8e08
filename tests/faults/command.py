"""What the commands of this folder have in common: --count, --seed and --json; progress; a summary; the exit code."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from regard import progress
from regard.console import with_optional_value
from regard.figures import check_destination, publish


class Report(Protocol):
    """What was found."""

    @property
    def good(self) -> bool: ...

    def to_text(self) -> str: ...

    def to_json(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Options:
    count: int
    seed: int


def command(
    description: str | None,
    count: int,
    run: Callable[[Path, Options], Report],
    arguments: Sequence[str] | None = None,
) -> int:
    """Do the work in a folder that is removed after, print what was found, and give the exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count, help="how many  [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="another seed chooses others  [default: 1]")
    parser.add_argument("--json", metavar="FILE", help="also write the figures, to a file or (-) to standard output")
    options = parser.parse_args(with_optional_value("--json", "-", sys.argv[1:] if arguments is None else arguments))
    check_destination(options.json)
    progress.show()
    with tempfile.TemporaryDirectory(prefix="regard-faults.") as folder:
        report = run(Path(folder), Options(options.count, options.seed))
    publish(report, options.json)
    return 0 if report.good else 1
