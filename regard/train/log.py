"""The log of a run: one JSON object a line in `log.jsonl`, and TensorBoard's events where they are wanted."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from regard.atomic import explained, make_folder, write_file
from regard.errors import RegardError, how_to_install

LOG = "log.jsonl"


class MetricsLog:
    """Appends figures to `<run>/log.jsonl`; a line that `write` wrote outlives the program.

    A line has `step`, `kind` (`train`, `validation` and others) and `seconds` of training, then its figures.
    Call `resume` before the first `write`.
    """

    def __init__(self, run: Path, tensorboard: bool = False) -> None:
        self.path = run / LOG
        self._events = _Events(run / "tensorboard") if tensorboard else None

    def resume(self, step: int = 0) -> None:
        """Forget what was logged after `step` - and a line that a crash cut off -, for those steps come again."""
        if self.path.exists():
            kept = [line for line in read_log(self.path) if line["step"] <= step]
            write_file(self.path, "".join(map(_to_line, kept)).encode())
        else:
            write_file(self.path, b"")
        if self._events is not None:
            self._events.resume(step)

    def write(self, step: int, kind: str, *, seconds: float, **figures: Any) -> None:
        """Append a line. Numbers that are not finite are written as null, for JSON has none."""
        line = {"step": step, "kind": kind, "seconds": round(seconds, 3), **figures}
        with explained(self.path):
            make_folder(self.path.parent)
            with open(self.path, "ab") as file:
                file.write(_to_line(line).encode())
        if self._events is not None:
            self._events.write(step, kind, figures)

    def close(self) -> None:
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log in order; an unreadable one is left out, with a warning unless it is a torn last line."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RegardError(f"{path}: no such log; `regard train` writes it") from None
    except OSError as error:
        raise RegardError(f"{path}: cannot be read ({error.strerror})") from None
    *whole, _torn = content.split(b"\n")
    lines = [_parse(line) for line in whole]
    bad = [number for number, line in enumerate(lines, start=1) if line is None]
    if bad:
        warnings.warn(f"{path}: {len(bad)} unreadable lines are left out, the first is line {bad[0]}", stacklevel=2)
    return [line for line in lines if line is not None]


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(values, dict) and type(values.get("step")) is int and isinstance(values.get("kind"), str)
    return values if known else None


def _to_line(values: Mapping[str, Any]) -> str:
    return json.dumps(_finite(values), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def check_tensorboard() -> None:
    """Refuse `train.tensorboard` where TensorBoard is not installed."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError:
        raise RegardError(
            f"train.tensorboard needs TensorBoard; set it to false, or install that: {how_to_install('track')}"
        ) from None


class _Events:
    """TensorBoard's event files, through torch."""

    def __init__(self, folder: Path) -> None:
        check_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._make, self._folder = SummaryWriter, folder
        self._writer: SummaryWriter | None = None

    def resume(self, step: int) -> None:
        self.close()
        with explained(self._folder):
            # TensorBoard then shows nothing of what earlier sessions logged from that step on.
            self._writer = self._make(str(self._folder), purge_step=step + 1)

    def write(self, step: int, kind: str, figures: Mapping[str, Any]) -> None:
        if self._writer is None:
            self.resume(step - 1)
        assert self._writer is not None
        with explained(self._folder):
            for name, value in figures.items():
                if isinstance(value, int | float):
                    self._writer.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
