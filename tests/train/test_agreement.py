"""Two processes of a run agree: on the checkpoint that they go on from, and on which steps are not applied."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from tiny_world import write_tiny_corpus
from two_processes import in_two_processes

if os.name != "posix":
    pytest.skip("needs fork", allow_module_level=True)

from regard import pipeline
from regard.config import Config, ModelConfig, TrainConfig
from regard.data.prepared import PreparedCorpus
from regard.errors import RegardError
from regard.models import build_model
from regard.recipe import override_config
from regard.run_folder import open_run
from regard.train import checkpoint
from regard.train.log import read_log
from regard.train.loop import Trainer
from regard.train.manifest import DamagedCheckpoint
from regard.train.session import Session
from regard.train.signals import StopRequest
from regard.train.team import Team

BAD_STEP = 3
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


def part_ways(team: Team, folder: Path) -> bool:
    """Whether the other process had said all it had to say when this one was free to leave."""
    if team.rank == 1:
        time.sleep(0.3)
    (folder / str(team.rank)).touch()
    team.part_ways()
    return (folder / str(1 - team.rank)).exists()


@BOTH_TEAMS
def test_nobody_leaves_before_all_have_said_what_they_had_to_say(tmp_path, cut):
    assert in_two_processes(part_ways, tmp_path, cut=cut) == [True, True]


@dataclass
class Steps:
    """What one process saw of each step."""

    pairs: dict[int, list[int]] = field(default_factory=dict)
    applied: dict[int, bool] = field(default_factory=dict)


def train_with_a_bad_share(team: Team, config: Config, run: Path) -> Steps:
    """Train; in one step, the gradients of the process that does not lead are not finite."""
    steps, step_of_trainer = Steps(), Trainer._step

    def step(trainer, batches, *arguments):
        number = trainer.session.standing.step + 1
        steps.pairs[number] = [int(index) for batch in batches for index in batch.indices]
        if team.rank == 1:
            share = float("nan") if number == BAD_STEP else 1.0
            trainer.precision.backward = lambda loss: (share * loss).backward()
        before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
        asked = step_of_trainer(trainer, batches, *arguments)
        pairs = zip(before, trainer.model.parameters(), strict=True)
        steps.applied[number] = not all(torch.equal(one, other) for one, other in pairs)
        return asked

    Trainer._step = step
    pipeline.plot_curves = lambda run, choose_by: None
    pipeline._train(config, run, torch.device("cpu"), team, StopRequest())
    return steps


@BOTH_TEAMS
def test_a_step_that_is_bad_in_one_process_is_bad_in_all(tmp_path, cut):
    config = override_config(write_tiny_corpus(tmp_path), ["train.max_steps=5", "train.log_every=1"])
    run = tmp_path / "run"
    open_run(config, run, must_resume=False)
    tokenizers = pipeline.learn_tokenizers(config)
    tokenizers.save(run)
    PreparedCorpus.build(run / pipeline.PREPARED, config.data.train, config.data, tokenizers)
    leader, worker = in_two_processes(train_with_a_bad_share, config, run, cut=cut)
    assert leader.applied == worker.applied == {step: step != BAD_STEP for step in range(1, 6)}
    (bad,) = (line for line in read_log(run / "log.jsonl") if line["kind"] == "bad")
    assert bad["step"] == BAD_STEP
    assert bad["pairs"] == leader.pairs[BAD_STEP] + worker.pairs[BAD_STEP]
    assert worker.pairs[BAD_STEP]
