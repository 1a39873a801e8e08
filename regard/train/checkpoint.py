"""Checkpoints: folders that are whole or not there, verified to the byte when they are read."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from regard.atomic import new_folder, remove_folder, sweep
from regard.errors import RegardError
from regard.train.contents import FACTS, TENSORS, read_facts, read_tensors, write_facts, write_tensors
from regard.train.manifest import (
    MANIFEST,
    DamagedCheckpoint,
    Manifest,
    describe_files,
    read_manifest,
    read_verified,
    seal,
    verify,
)

_NAME = re.compile(r"step-(\d{8,})(?:\.(\d+))?")

CHECKPOINTS = "checkpoints"
"""The folder of them in that of a run."""


class CheckpointWarning(UserWarning):
    """A checkpoint that cannot be used was passed over."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose every byte was found to be as written when it was opened."""

    path: Path
    step: int
    score: float | None
    interim: bool
    facts: dict[str, Any]
    _manifest: Manifest = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Verify the checkpoint in a folder; `DamagedCheckpoint` says what is wrong with it."""
        manifest = read_manifest(path)
        if not {TENSORS, FACTS} <= manifest.files.keys():
            raise DamagedCheckpoint(path, f"{TENSORS} or {FACTS} is not in its manifest")
        verify(path, manifest)
        try:
            facts = read_facts(read_verified(path, manifest, FACTS))
        except ValueError as error:
            raise DamagedCheckpoint(path, f"{FACTS} cannot be read ({error})") from None
        return cls(path, manifest.step, manifest.score, manifest.interim, facts, manifest)

    @property
    def place(self) -> tuple[int, int]:
        """What tells it from others of its run: its step, and which of that step's it is."""
        return _age(self.path.name)

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors by name; made from the very bytes that are verified."""
        content = read_verified(self.path, self._manifest, TENSORS)
        try:
            return read_tensors(content)
        except ValueError as error:
            raise DamagedCheckpoint(self.path, f"{TENSORS} cannot be read ({error})") from None


class CheckpointStore:
    """The checkpoints of a run: the newest `keep_last` and the `keep_best` with the best scores.

    An interim one, saved because a run was asked to stop, is there to go on from, until the next one is. It counts for
    nothing else, so that a run which was stopped ends as one that was not.
    """

    def __init__(self, folder: Path, keep_last: int = 2, keep_best: int = 1, lower_is_better: bool = True) -> None:
        self.folder = folder
        self._keep_last, self._keep_best, self._lower_is_better = max(keep_last, 1), keep_best, lower_is_better

    def save(
        self,
        step: int,
        tensors: Mapping[str, Tensor],
        facts: Mapping[str, Any],
        score: float | None = None,
        interim: bool = False,
    ) -> Path:
        """Write a checkpoint; only when it is safe on the disk do older ones go.

        `facts` are JSON values (floats come back to the bit, infinities and NaN too). A score that is not finite
        counts as none. When the disk is full or read-only, a `RegardError` says so and all is as before.
        """
        sweep(self.folder)
        path = self.folder / self._free_name(step)
        score = score if score is not None and math.isfinite(score) else None
        try:
            with new_folder(path) as aside:
                write_facts(aside / FACTS, facts)
                write_tensors(aside / TENSORS, tensors)
                (aside / TENSORS).chmod((aside / FACTS).stat().st_mode)  # safetensors lets none but the owner read
                manifest = Manifest(path.name, step, score, interim, describe_files(aside))
                (aside / MANIFEST).write_bytes(seal(manifest))
        except RegardError as error:
            raise RegardError(f"{error}. {self._what_is_left()}") from error
        self._prune(path)
        return path

    def tidy(self, newest: Checkpoint) -> None:
        """Remove what a save that was killed after `newest` was safe would have removed."""
        sweep(self.folder)
        self._prune(newest.path)

    def latest(self) -> Checkpoint | None:
        """The newest good checkpoint; None where there never was one. Damaged ones are named in a warning."""
        damaged: list[DamagedCheckpoint] = []
        found = (checkpoint for path in self._paths() if (checkpoint := _open_or_warn(path, damaged)))
        return next(found, None) or next(iter(self._nothing_good(damaged)), None)

    def at(self, step: int, number: int) -> Checkpoint:
        """The checkpoint at that place, and no other; `DamagedCheckpoint` where it is not there, or not good."""
        return Checkpoint.open(self.folder / _name(step, number))

    def last(self, count: int) -> list[Checkpoint]:
        """The newest good checkpoints of `count` different steps, interim ones left out, or as many as there are."""
        found: dict[int, Checkpoint] = {}
        damaged: list[DamagedCheckpoint] = []
        for path in self._paths():
            if len(found) == count:
                break
            if _step_of(path) not in found and (checkpoint := _open_or_warn(path, damaged)) and not checkpoint.interim:
                found[checkpoint.step] = checkpoint
        return list(found.values()) or self._nothing_good(damaged)

    def best(self) -> Checkpoint | None:
        """The good checkpoint with the best score, the earliest of equals; None where none has a score."""
        return next(iter(self.best_few(1)), None)

    def best_few(self, count: int) -> list[Checkpoint]:
        """The good checkpoints of `count` different steps with the best scores, or as many as have one, best first."""
        damaged: list[DamagedCheckpoint] = []
        manifests = list(_manifests(self._paths(), damaged))
        found: dict[int, Checkpoint] = {}
        for path, manifest in self._best_first(manifests):
            if len(found) < count and manifest.step not in found and (checkpoint := _open_or_warn(path, damaged)):
                found[manifest.step] = checkpoint
        if found or any(manifest.score is None for _, manifest in manifests):
            return list(found.values())
        return self._nothing_good(damaged)

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint, good or not; neither an empty folder is one, nor what a killed save left."""
        return bool(self._paths())

    def latest_step(self) -> int | None:
        """The step of the newest checkpoint that looks whole; nothing is read but its manifest."""
        return next((manifest.step for _, manifest in _manifests(self._paths(), [], quiet=True)), None)

    def _what_is_left(self) -> str:
        """What there is to go on from, read to its last byte: a disk that takes no more may have lost more."""
        paths = self._paths()
        good = next(filter(None, (_open_or_warn(path, []) for path in paths)), None)
        if good is not None:
            return f"The checkpoint of step {good.step} is intact"
        return "No checkpoint there is intact" if paths else "There is no checkpoint yet"

    def _paths(self) -> list[Path]:
        """All checkpoints, good or not, the newest first."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RegardError(
                f"{self.folder}: the checkpoints cannot be listed ({error.strerror}); "
                "look at the permissions, or choose another run folder"
            ) from None
        return [self.folder / name for name in sorted(filter(_NAME.fullmatch, names), key=_age, reverse=True)]

    def _free_name(self, step: int) -> str:
        """The name for a step; with a number after it where the step has a checkpoint already.

        A folder cannot be replaced in one stroke. So the second one of a step stands beside the first until it
        is safe, and counts as newer.
        """
        taken = [_age(path.name)[1] for path in self._paths() if _step_of(path) == step]
        return _name(step, max(taken, default=0) + 1)

    def _prune(self, saved: Path) -> None:
        """Remove what need not be kept. What is newer than the one just saved stays until its step comes again."""
        older = [path for path in self._paths() if _age(path.name) <= _age(saved.name)]
        manifests: dict[int, tuple[Path, Manifest]] = {}
        for path, manifest in _manifests(older, [], quiet=True):
            if not manifest.interim:
                manifests.setdefault(manifest.step, (path, manifest))
        ranked = list(manifests.values())
        kept = {saved}
        kept |= {path for path, _ in ranked[: self._keep_last]}
        kept |= {path for path, _ in self._best_first(ranked)[: self._keep_best]}
        for path in older:
            if path not in kept:
                try:
                    remove_folder(path)
                except RegardError as error:
                    warnings.warn(str(error), CheckpointWarning, stacklevel=3)

    def _best_first(self, manifests: Iterable[tuple[Path, Manifest]]) -> list[tuple[Path, Manifest]]:
        sign = 1 if self._lower_is_better else -1
        scored = [(sign * m.score, m.step, path, m) for path, m in manifests if m.score is not None]
        return [(path, manifest) for _, _, path, manifest in sorted(scored, key=lambda entry: entry[:2])]

    def _nothing_good(self, damaged: list[DamagedCheckpoint]) -> list[Checkpoint]:
        if not damaged:
            return []
        reasons = "; ".join(f"{error.folder.name}: {error.reason}" for error in damaged)
        raise RegardError(
            f"{self.folder}: no checkpoint there can be used ({reasons}); "
            "bring one back from a copy, or remove that folder to start from the first step"
        )


def _name(step: int, number: int) -> str:
    return f"step-{step:08d}" + (f".{number}" if number > 1 else "")


def _age(name: str) -> tuple[int, int]:
    match = _NAME.fullmatch(name)
    return (int(match[1]), int(match[2] or 1)) if match else (-1, -1)


def _step_of(path: Path) -> int:
    return _age(path.name)[0]


def _open_or_warn(path: Path, damaged: list[DamagedCheckpoint]) -> Checkpoint | None:
    try:
        return Checkpoint.open(path)
    except DamagedCheckpoint as error:
        _pass_over(error, damaged)
        return None


def _manifests(
    paths: Iterable[Path], damaged: list[DamagedCheckpoint], quiet: bool = False
) -> Iterator[tuple[Path, Manifest]]:
    """The manifests of those that have a good one; the others are noted in `damaged`."""
    for path in paths:
        try:
            yield path, read_manifest(path)
        except DamagedCheckpoint as error:
            if not quiet:
                _pass_over(error, damaged)


def _pass_over(error: DamagedCheckpoint, damaged: list[DamagedCheckpoint]) -> None:
    damaged.append(error)
    warnings.warn(f"{error}; it is passed over for an older one", CheckpointWarning, stacklevel=4)
