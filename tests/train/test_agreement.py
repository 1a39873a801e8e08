"""Two processes of a run agree: on the checkpoint that they go on from, and on which steps are not applied."""

import os
from pathlib import Path

import pytest
from two_processes import in_two_processes

if os.name != "posix":
    pytest.skip("needs fork", allow_module_level=True)

from regard.config import Config, ModelConfig, TrainConfig
from regard.errors import RegardError
from regard.models import build_model
from regard.train import checkpoint
from regard.train.manifest import DamagedCheckpoint
from regard.train.session import Session
from regard.train.team import Team

BOTH_TEAMS = pytest.mark.parametrize("cut", [True, False], ids=["one machine", "torchrun"])


def session_of(run: Path, team: Team) -> Session:
    sizes = dict(width=16, feed_forward=16, heads=2, encoder_layers=1, decoder_layers=1)
    config = Config(model=ModelConfig(**sizes), train=TrainConfig(ema=0.9))
    return Session(build_model(config.model, 30, 30, seed=1), config, run, team)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with checkpoints of steps 1 and 2."""
    session = session_of(tmp_path, Team())
    for step in (1, 2):
        session.standing.step = step
        session.save()
    return tmp_path


def resumed_step(team: Team, run: Path, blind: int | None) -> int:
    """The step from which this process goes on; process number `blind` cannot read the newest checkpoint."""
    verify = checkpoint.verify

    def unreadable(path, manifest):
        if path.name.endswith("2"):
            raise DamagedCheckpoint(path, "tensors.safetensors cannot be read (Input/output error)")
        verify(path, manifest)

    if team.rank == blind:
        checkpoint.verify = unreadable
    session = session_of(run, team)
    session.resume()
    return session.standing.step


def test_who_resumes_alone_takes_the_newest(run):
    assert resumed_step(Team(), run, blind=None) == 2


@pytest.mark.filterwarnings("ignore")
@BOTH_TEAMS
def test_all_go_on_from_what_the_leader_can_read(run, cut):
    assert in_two_processes(resumed_step, run, 0, cut=cut) == [1, 1]


@BOTH_TEAMS
def test_all_stop_where_one_cannot_read_what_the_leader_can(run, cut):
    ends = in_two_processes(resumed_step, run, 1, cut=cut)
    assert [type(end) for end in ends] == [RegardError, RegardError]
    assert {str(end) for end in ends} == {
        f"process 1 of this run: {run}/checkpoints/step-00000002: damaged checkpoint: tensors.safetensors cannot be "
        "read (Input/output error). No process goes on alone: mend that, and give the command again"
    }
