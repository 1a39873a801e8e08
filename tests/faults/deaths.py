"""Dying inside a save, at a chosen step of it: at once and without a word, by SIGKILL."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import safetensors.torch

from regard.train.checkpoint import CheckpointStore
from regard.train.contents import FACTS
from regard.train.manifest import MANIFEST

SAVE_STEPS = ("facts", "tensors", "manifest", "flush", "rename", "deletion")
_FLUSHES = 5
"""Three files, their folder, and the folder above."""
_DELETION_CALLS = 5
"""A rename, three files and a folder."""


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@dataclass(frozen=True)
class DeathInSave:
    """Die in the `number`-th save of a process, or the next that comes to that step.

    `share` is the part of the step that is done by then: of a file, its bytes; of several calls to the system, calls.
    """

    step: str
    number: int
    share: float

    def install(self) -> None:
        executioner = _Executioner(self)
        CheckpointStore.save = executioner.save(CheckpointStore.save)  # type: ignore[method-assign]
        Path.write_bytes = executioner.write_bytes(Path.write_bytes)  # type: ignore[method-assign]
        safetensors.torch.save_file = executioner.save_file
        os.fsync = executioner.counted("flush", os.fsync)
        os.rename = executioner.rename(os.rename)
        for name in ("unlink", "rmdir"):
            setattr(os, name, executioner.counted("deletion", getattr(os, name)))


class _Executioner:
    """Knows how far a save has come."""

    def __init__(self, death: DeathInSave) -> None:
        self.death = death
        self.saves = self.calls = 0
        self.armed = self.in_place = False

    def save(self, original: Callable[..., Path]) -> Callable[..., Path]:
        def save(*arguments: Any, **options: Any) -> Path:
            self.saves += 1
            self.calls, self.armed, self.in_place = 0, self.saves >= self.death.number, False
            try:
                return original(*arguments, **options)
            finally:
                self.armed = False

        return save

    def write_bytes(self, original: Callable[[Path, bytes], int]) -> Callable[[Path, bytes], int]:
        steps = {FACTS: "facts", MANIFEST: "manifest"}

        def write_bytes(path: Path, content: bytes) -> int:
            if self._is_now(steps.get(path.name)):
                original(path, self._part(content))
                die()
            return original(path, content)

        return write_bytes

    def save_file(self, tensors: Any, path: Path) -> None:
        content = safetensors.torch.save(tensors)
        with open(path, "wb") as file:
            file.write(self._part(content) if self._is_now("tensors") else content)
        if self._is_now("tensors"):
            die()

    def rename(self, original: Callable[..., None]) -> Callable[..., None]:
        """The rename that puts a checkpoint in place, or one that begins a deletion."""
        deleting = self.counted("deletion", original)

        def rename(*arguments: Any, **options: Any) -> None:
            if self.in_place:
                return deleting(*arguments, **options)
            if self._is_now("rename") and self.death.share < 0.5:
                die()
            original(*arguments, **options)
            self.in_place = self.armed
            if self._is_now("rename"):
                die()
            return None

        return rename

    def counted(self, step: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """A call of which a step has several."""
        total = _FLUSHES if step == "flush" else _DELETION_CALLS

        def call(*arguments: Any, **options: Any) -> Any:
            if self._is_now(step) and (self.in_place or step != "deletion"):
                if self.calls >= int(self.death.share * total):
                    die()
                self.calls += 1
            return original(*arguments, **options)

        return call

    def _is_now(self, step: str | None) -> bool:
        return self.armed and step == self.death.step

    def _part(self, content: bytes) -> bytes:
        return content[: int(self.death.share * len(content))]
