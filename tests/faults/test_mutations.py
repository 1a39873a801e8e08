"""Files of checkpoints are damaged in every way: none may be loaded in silence, and none may end in a traceback."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from mutations import (
    FILES,
    MUTATIONS,
    SAVED,
    Mutation,
    expected,
    flip_bit,
    mutate,
    mutate_all,
    outcome,
    write_checkpoints,
)

from regard.train.checkpoint import CheckpointStore


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoints(tmp_path_factory.mktemp("pristine"))


def test_the_undamaged_one_is_loaded_in_silence(pristine: Path) -> None:
    assert outcome(CheckpointStore(pristine)) == "300 in silence"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_no_mutation_is_loaded_in_silence(pristine: Path, tmp_path: Path, mutation: Mutation) -> None:
    for seed in range(6):
        assert mutate(pristine, tmp_path / "copy", mutation, str(seed)) in expected(mutation)


def test_all_damaged_is_an_error_in_words(pristine: Path, tmp_path: Path) -> None:
    for seed in range(10):
        shutil.copytree(pristine, tmp_path / "copy")
        chance = random.Random(seed)
        for step in SAVED:
            flip_bit(tmp_path / "copy" / f"step-{step:08d}" / chance.choice(FILES), tmp_path, chance)
        assert outcome(CheckpointStore(tmp_path / "copy")) == "error in words"
        shutil.rmtree(tmp_path / "copy")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_byte_counts(pristine: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(pristine, tmp_path / "copy")
    path = tmp_path / "copy" / "step-00000300" / name
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert outcome(CheckpointStore(tmp_path / "copy")) == "200 with a warning", place


@pytest.mark.slow
def test_the_command_that_counts(tmp_path: Path) -> None:
    report = mutate_all(tmp_path, count=100, seed=2)
    assert report.good, report.to_text()
    assert (report.count, report.runs) == (100, 4)
