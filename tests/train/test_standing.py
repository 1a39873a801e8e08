"""Where a run stands goes into a checkpoint and comes back; what another version wrote is refused in words."""

import math
import shutil
from pathlib import Path

import pytest

from regard.data.batches import Position
from regard.errors import RegardError
from regard.train.checkpoint import Checkpoint, CheckpointStore
from regard.train.standing import Standing

CHECKPOINT = Path("run/checkpoints/step-00000007")


def test_it_comes_back():
    standing = Standing(7, 2, Position(1, 3), best_score=math.pi, bad_steps=1, scaling={"scale": 128.0})
    assert Standing.from_facts(standing.to_facts(), CHECKPOINT) == standing


@pytest.mark.parametrize("key", ["tokens", "position"])
def test_what_lacks_a_key_is_refused(key):
    facts = Standing().to_facts()
    del facts[key]
    with pytest.raises(RegardError, match=rf"{CHECKPOINT}: another version of regard made .* lack `{key}`; go on with"):
        Standing.from_facts(facts, CHECKPOINT)


def test_a_run_whose_checkpoint_has_a_key_of_another_version_stops_with_a_sentence(regard, tiny_run, tmp_path):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    checkpoint = Checkpoint.open(run / "checkpoints" / "step-00000020")
    CheckpointStore(run / "checkpoints").save(20, checkpoint.tensors(), {**checkpoint.facts, "mood": 7})
    end = regard("train", run / "config.toml", "--run", run)
    assert end.code == 2
    assert f"{run}/checkpoints/step-00000020.2: another version of regard made this checkpoint" in end.errors
    assert "its facts have `mood`" in end.errors
