"""Files of checkpoints are damaged in every way: none may be loaded in silence, and none may end in a traceback."""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.errors import RegardError
from regard.train.checkpoint import CheckpointStore, CheckpointWarning

FILES = ["tensors.safetensors", "facts.json", "manifest.json"]
STEPS = [100, 200, 300]
WEIGHTS = {step: torch.full((40, 5), float(step)) for step in STEPS}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pristine")
    store = CheckpointStore(folder, keep_last=9)
    for step in STEPS:
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
    shutil.copytree(other, path.parent.with_name(chance.choice(["step-00000400", "step-00000300.2"])))
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


Mutation = Callable[[Path, Path, random.Random], None]
MUTATIONS: list[Mutation] = [
    *[truncate, flip_bit, change_byte, zero_block, append, insert_byte, delete, swap_file, swap_folders, add_file],
    *[copy_file_of_other, copy_another_name, copy_folder_of_other, duplicate_as_newer, empty_folder, folder_to_file],
    file_to_folder,
]


def outcome(store: CheckpointStore) -> str:
    """What a run would do now: load a checkpoint, with or without a warning, or stop with an error in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            checkpoint = store.latest()
            assert checkpoint is not None
            weights = checkpoint.tensors()["model.weight"]
        except RegardError:
            return "error"
    assert torch.equal(weights, WEIGHTS[checkpoint.step]), "loaded something that was never saved"
    assert checkpoint.facts["step"] == checkpoint.step
    warned = any(issubclass(warning.category, CheckpointWarning) for warning in caught)
    return f"{checkpoint.step} {'with a warning' if warned else 'in silence'}"


def mutate(pristine: Path, folder: Path, mutation: Mutation, seed: int) -> str:
    """Damage the newest checkpoint in one way; then see what is loaded."""
    chance = random.Random(f"{mutation.__name__} {seed}")
    shutil.copytree(pristine, folder)
    newest, other = folder / "step-00000300", folder / f"step-{chance.choice(STEPS[:-1]):08d}"
    mutation(newest / chance.choice(FILES), other, chance)
    found = outcome(CheckpointStore(folder))
    shutil.rmtree(folder)
    return found


def expected(mutation: Mutation) -> set[str]:
    """The one before; where the other was damaged too, the one that is left."""
    both = mutation in (swap_file, swap_folders)
    return {"100 with a warning", "200 with a warning"} if both else {"200 with a warning"}


def test_the_undamaged_one_is_loaded_in_silence(pristine: Path) -> None:
    assert outcome(CheckpointStore(pristine)) == "300 in silence"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_no_mutation_is_loaded_in_silence(pristine: Path, tmp_path: Path, mutation: Mutation) -> None:
    for seed in range(6):
        assert mutate(pristine, tmp_path / "copy", mutation, seed) in expected(mutation)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_none_of_many_mutations_is_loaded_in_silence(pristine: Path, tmp_path: Path, mutation: Mutation) -> None:
    for seed in range(100, 140):
        assert mutate(pristine, tmp_path / "copy", mutation, seed) in expected(mutation)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_byte_counts(pristine: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(pristine, tmp_path / "copy")
    path = tmp_path / "copy" / "step-00000300" / name
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert outcome(CheckpointStore(tmp_path / "copy")) == "200 with a warning", place


def test_all_damaged_is_an_error_in_words(pristine: Path, tmp_path: Path) -> None:
    for seed in range(10):
        shutil.copytree(pristine, tmp_path / "copy")
        chance = random.Random(seed)
        for step in STEPS:
            flip_bit(tmp_path / "copy" / f"step-{step:08d}" / chance.choice(FILES), tmp_path, chance)
        assert outcome(CheckpointStore(tmp_path / "copy")) == "error"
        shutil.rmtree(tmp_path / "copy")
