"""Files of checkpoints are damaged in every way: none may be loaded in silence, and none may end in a traceback.

    .venv/bin/python tests/faults/mutations.py --count 500

Each damage is done to the newest of three checkpoints, which is then asked for. Every twenty-third is done to a run
too, which goes on by the command `regard train` and must end as one left alone. Leaves with 1 on a failure.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from command import Options, command
from scene import EVERY, STEPS, Scene

from regard.errors import RegardError
from regard.progress import task
from regard.train.checkpoint import CheckpointStore, CheckpointWarning
from regard.train.contents import FACTS, TENSORS
from regard.train.manifest import MANIFEST

FILES = [TENSORS, FACTS, MANIFEST]
SAVED = [100, 200, 300]
WEIGHTS = {step: torch.full((40, 5), float(step)) for step in SAVED}
RUN_EVERY = 23  # no divisor of the number of kinds, so that all of them get their turn


def write_checkpoints(folder: Path) -> Path:
    """Three good checkpoints."""
    store = CheckpointStore(folder, keep_last=9)
    for step in SAVED:
        store.save(step, {"model.weight": WEIGHTS[step]}, {"step": step, "note": "a b c"}, score=1 / step)
    return folder


def truncate(path: Path, other: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])


def flip_bit(path: Path, other: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def change_byte(path: Path, other: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    place = chance.randrange(len(content))
    content[place] = chance.choice([byte for byte in b" \t\n0{}\x00\xff" if byte != content[place]])
    path.write_bytes(content)


def zero_block(path: Path, other: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content))
    end = chance.randrange(start, len(content)) + 1
    content[start:end] = bytes(end - start)
    if content == path.read_bytes():
        content.append(0)
    path.write_bytes(content)


def append(path: Path, other: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.choice([b"\n", b" ", b"\x00", b"{}", path.read_bytes()]))


def insert_byte(path: Path, other: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    place = chance.randrange(len(content))
    path.write_bytes(content[:place] + bytes([chance.randrange(256)]) + content[place:])


def delete(path: Path, other: Path, chance: random.Random) -> None:
    path.unlink()


def swap_file(path: Path, other: Path, chance: random.Random) -> None:
    ours, theirs = path.read_bytes(), (other / path.name).read_bytes()
    path.write_bytes(theirs)
    (other / path.name).write_bytes(ours)


def swap_folders(path: Path, other: Path, chance: random.Random) -> None:
    aside = path.parent.with_name("aside")
    path.parent.rename(aside)
    other.rename(path.parent)
    aside.rename(other)


def copy_file_of_other(path: Path, other: Path, chance: random.Random) -> None:
    shutil.copy(other / path.name, path)


def copy_another_name(path: Path, other: Path, chance: random.Random) -> None:
    source = path.parent / chance.choice([name for name in FILES if name != path.name])
    shutil.copy(source, path)


def add_file(path: Path, other: Path, chance: random.Random) -> None:
    shutil.copy(path, path.with_name(path.name + chance.choice([".bak", "~", ".tmp"])))


def copy_folder_of_other(path: Path, other: Path, chance: random.Random) -> None:
    shutil.rmtree(path.parent)
    shutil.copytree(other, path.parent)


def duplicate_as_newer(path: Path, other: Path, chance: random.Random) -> None:
    shutil.copytree(other, path.parent.with_name(f"{path.parent.name}.{chance.randrange(2, 100)}"))
    shutil.rmtree(path.parent)


def empty_folder(path: Path, other: Path, chance: random.Random) -> None:
    shutil.rmtree(path.parent)
    path.parent.mkdir()


def folder_to_file(path: Path, other: Path, chance: random.Random) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"")


def file_to_folder(path: Path, other: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def empty_file(path: Path, other: Path, chance: random.Random) -> None:
    path.write_bytes(b"")


def file_to_link(path: Path, other: Path, chance: random.Random) -> None:
    """A link to the very bytes: what it leads to could change after it was looked at."""
    aside = path.parent.with_name(f"aside-{path.name}")
    path.rename(aside)
    path.symlink_to(aside)


def folder_to_link(path: Path, other: Path, chance: random.Random) -> None:
    shutil.rmtree(path.parent)
    path.parent.symlink_to(other)


Mutation = Callable[[Path, Path, random.Random], None]
MUTATIONS: list[Mutation] = [
    *[truncate, flip_bit, change_byte, zero_block, append, insert_byte, delete, swap_file, swap_folders, add_file],
    *[copy_file_of_other, copy_another_name, copy_folder_of_other, duplicate_as_newer, empty_folder, folder_to_file],
    *[file_to_folder, empty_file, file_to_link, folder_to_link],
]
OF_BOTH = (swap_file, swap_folders)


def damage(mutation: Mutation, checkpoints: Path, steps: Sequence[int], seed: str) -> None:
    """Damage the newest checkpoint in one way, with the help of an older one."""
    chance = random.Random(f"{mutation.__name__} {seed}")
    newest, other = checkpoints / f"step-{steps[-1]:08d}", checkpoints / f"step-{chance.choice(steps[:-1]):08d}"
    mutation(newest / chance.choice(FILES), other, chance)


def outcome(store: CheckpointStore) -> str:
    """What a run would do now: load a checkpoint, with or without a warning, or stop with an error in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            checkpoint = store.latest()
            weights = checkpoint.tensors()["model.weight"] if checkpoint else None
        except RegardError:
            return "error in words"
        except Exception as error:
            return f"traceback: {type(error).__name__}"
    if checkpoint is None or weights is None:
        return "nothing found, in silence"
    if not torch.equal(weights, WEIGHTS[checkpoint.step]) or checkpoint.facts["step"] != checkpoint.step:
        return "something loaded that was never saved"
    warned = any(issubclass(warning.category, CheckpointWarning) for warning in caught)
    return f"{checkpoint.step} {'with a warning' if warned else 'in silence'}"


def expected(mutation: Mutation) -> set[str]:
    """The one before; where the other was damaged too, the one that is left."""
    return {"100 with a warning", "200 with a warning"} if mutation in OF_BOTH else {"200 with a warning"}


def mutate(pristine: Path, folder: Path, mutation: Mutation, seed: str) -> str:
    """Damage a copy of the checkpoints; gives what is loaded then."""
    shutil.copytree(pristine, folder)
    damage(mutation, folder, SAVED, seed)
    found = outcome(CheckpointStore(folder))
    shutil.rmtree(folder)
    return found


def mutate_run(scene: Scene, mutation: Mutation, seed: str) -> list[str]:
    """Damage the newest checkpoint of a finished run and give its command again; gives what went wrong."""
    alone, run = scene.left_alone()[0], scene.new_run()
    shutil.copytree(alone, run)
    damage(mutation, run / "checkpoints", [STEPS - EVERY, STEPS], seed)
    end = scene.start(run).wait()
    if mutation in OF_BOTH:
        refused = end.code == 2 and "no checkpoint there can be used" in end.said
        return [] if refused and end.clean else [f"both damaged, and it ended with {end.code}: {end.said}"]
    named = end.code == 0 and "damaged checkpoint" in end.said and "passed over" in end.said
    return [*scene.differences(run), *([] if named and end.clean else [f"it ended with {end.code}: {end.said}"])]


@dataclass
class MutationReport:
    """What damage did."""

    seed: int
    kinds: int = len(MUTATIONS)
    outcomes: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.outcomes.total()

    @property
    def good(self) -> bool:
        return not self.failures

    def _with(self, words: str) -> int:
        return sum(count for outcome, count in self.outcomes.items() if words in outcome)

    def to_text(self) -> str:
        return "\n".join(
            [
                f"mutations            {self.count} of {self.kinds} kinds, seed {self.seed}",
                f"  warning, older one {self._with('with a warning')}",
                f"  error in words     {self._with('error in words')}",
                f"loaded in silence    {self._with('in silence') + self._with('never saved')}",
                f"tracebacks           {self._with('traceback')}",
                f"whole runs           {self.runs}, resumed by the command, each with a warning or an error in words",
                *(f"FAILED: {failure}" for failure in self.failures),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "count": self.count, "good": self.good}


def mutate_all(folder: Path, count: int, seed: int) -> MutationReport:
    report, scene = MutationReport(seed), Scene(folder)
    pristine = write_checkpoints(folder / "pristine")
    if (found := outcome(CheckpointStore(pristine))) != "300 in silence":
        report.failures.append(f"undamaged: {found}")
    with task("mutations", count) as work:
        for number in range(count):
            mutation, chosen = MUTATIONS[number % len(MUTATIONS)], f"{seed} {number}"
            found = mutate(pristine, folder / "copy", mutation, chosen)
            report.outcomes[found] += 1
            if found not in expected(mutation):
                report.failures.append(f"{mutation.__name__} {number}: {found}")
            if number % RUN_EVERY == RUN_EVERY - 1:
                report.runs += 1
                report.failures += [f"{mutation.__name__} of a run: {it}" for it in mutate_run(scene, mutation, chosen)]
            work.advance(1, f"{len(report.failures)} failures")
    return report


def _run(folder: Path, options: Options) -> MutationReport:
    return mutate_all(folder, options.count, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    return command(__doc__, 500, _run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
