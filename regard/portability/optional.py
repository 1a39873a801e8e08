"""Packages that only exports need: imported when they are asked for, with a word on how to get them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from regard.errors import RegardError


def need(package: str, extra: str = "regard[export]") -> Any:
    """Import a package that regard does without, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        missing = package.partition(".")[0]
        raise RegardError(
            f"this needs the package {missing}, which cannot be imported here ({error}): pip install '{extra}'"
        ) from None


def has(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None
