"""Figures for programs: what a command printed, as JSON in a file or on standard output."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from regard.errors import RegardError

STANDARD_OUTPUT = "-"


class Report(Protocol):
    """What a command found, in a form for people and in one for programs."""

    def to_text(self) -> str: ...

    def to_json(self) -> Mapping[str, Any]: ...


def check_destination(path: str | None, option: str = "--json", read: Iterable[Path | None] = ()) -> None:
    """Refuse a place where figures cannot be written, or that is `read`, before the work that makes them is done."""
    if path is None or path == STANDARD_OUTPUT:
        return
    place = Path(path)
    if any(source is not None and same_file(place, source) for source in read):
        raise RegardError(f"{path}: is read by this command too; name another file for {option}")
    if place.is_dir():
        raise RegardError(f"{path}: is a folder; {option} wants the name of a file")
    if not place.parent.is_dir():
        raise RegardError(f"{path}: there is no folder {place.parent}; make it first, or name another file")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise RegardError(f"{path}: may not be written; name another file")


def same_file(one: Path, other: Path) -> bool:
    """Whether two names are of one file."""
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def publish(report: Report, json_path: str | None) -> None:
    """Print a report for people and write its figures; with `-`, standard output carries the figures alone."""
    if json_path != STANDARD_OUTPUT:
        print(report.to_text().rstrip("\n"), flush=True)
    if json_path is not None:
        write_figures(json_path, report.to_json())


def write_figures(path: str | Path, figures: Mapping[str, Any]) -> None:
    """Write figures as JSON, readable and in their order, to a file or (`-`) to standard output."""
    text = json_text(figures)
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RegardError(f"{path}: cannot write the figures there ({error.strerror})") from None


def json_text(figures: Mapping[str, Any]) -> str:
    """Figures as JSON, readable and in their order."""
    return json.dumps(_plain(figures), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """The same in JSON's own types. JSON has no NaN and no infinity: they become null."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item") and not isinstance(value, str | bytes):  # a number of numpy or torch
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
