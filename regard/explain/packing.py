"""Arrays as a few characters of JSON: sixteen bits a number, between the least and the greatest."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 2**16 - 1


def pack(array: NDArray[Any], minimum: float | None = None, maximum: float | None = None) -> dict[str, Any]:
    """An array of finite numbers as `shape`, `minimum`, `maximum` and `uint16` (little-endian, C order, in base64).

    A value is minimum + u / 65535 · (maximum - minimum), so it comes back to within half a step. What lies outside of
    the bounds, where they are given, is taken to be on them.
    """
    values = array.astype(np.float64)
    least = float(values.min(initial=np.inf) if minimum is None else minimum) if values.size else 0.0
    greatest = float(values.max(initial=-np.inf) if maximum is None else maximum) if values.size else 0.0
    shares = (values - least) / (greatest - least) if greatest > least else np.zeros_like(values)
    numbers = np.round(shares.clip(0, 1) * STEPS).astype("<u2")
    return {
        "shape": list(array.shape),
        "minimum": least,
        "maximum": greatest,
        "uint16": base64.b64encode(numbers.tobytes()).decode("ascii"),
    }


def unpack(packed: Mapping[str, Any]) -> NDArray[np.float64]:
    """The array that `pack` was given, to within half a step."""
    numbers = np.frombuffer(base64.b64decode(packed["uint16"], validate=True), dtype="<u2").reshape(packed["shape"])
    least, greatest = packed["minimum"], packed["maximum"]
    return np.asarray(least + numbers / STEPS * (greatest - least), dtype=np.float64)
