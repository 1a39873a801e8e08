"""Packages that only exports need: imported when they are asked for, with a word on how to get them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from regard.errors import RegardError, how_to_install


def has(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def ctranslate2() -> Any:
    """The package ctranslate2, with its specifications of models."""
    with _needed("ctranslate2"):
        import ctranslate2
        import ctranslate2.specs

        return ctranslate2


def onnx() -> Any:
    """The package onnx."""
    with _needed("onnx"):
        import onnx

        return onnx


def onnxruntime() -> Any:
    """The package onnxruntime."""
    with _needed("onnxruntime"):
        import onnxruntime

        return onnxruntime


def transformers() -> Any:
    """The package transformers."""
    with _needed("transformers", "pip install 'transformers>=4.50'"):
        import transformers

        return transformers


@contextmanager
def _needed(package: str, remedy: str = how_to_install("export")) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise RegardError(
            f"this needs the package {package}, which cannot be imported here ({error}): {remedy}"
        ) from None
