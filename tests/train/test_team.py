"""Two processes train as one with twice the batches does, and resume as it does, with whole weights or with parts."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ranks
import torch
from ranks import TORCHRUN, train_command, wait_for_step, workers_of
from safetensors.torch import load_file

from regard.errors import RegardError
from regard.recipe import format_config, parse_config
from regard.train.team import team_of_torchrun

pytestmark = pytest.mark.slow
STEPS = 50
GRADIENTS = Path(__file__).parent / "gradients_of_a_step.py"
SHARDED = ("train.accumulate=2", "train.processes=2", "train.shard=true")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    generator = torch.Generator().manual_seed(0)
    lines = [
        " ".join(str(int(word)) for word in torch.randint(100, (2 + number % 6,), generator=generator))
        for number in range(600)
    ]
    for name, part in (("train", lines[:560]), ("valid", lines[560:])):
        (folder / f"{name}.en").write_text("".join(line + "\n" for line in part))
        (folder / f"{name}.xx").write_text("".join(line[::-1] + "\n" for line in part))

    def files(name):
        return [{"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.xx")}]

    config = parse_config(
        {
            "data": {"target_language": "xx", "train": files("train"), "validation": files("valid")},
            "tokenizer": {"vocabulary_size": 300},
            "model": {"width": 16, "feed_forward": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
            "train": {
                "max_steps": STEPS,
                "batch_tokens": 250,
                "warmup_steps": 10,
                "validate_every": 20,
                "validation_sentences": 0,
                "log_every": 1,
                "threads": 1,
                "ema": 0.9,
            },
        }
    )
    (folder / "recipe.toml").write_text(format_config(config))
    return folder / "recipe.toml"


def train(*arguments, **options) -> list[float]:
    """The loss of every step of a run."""
    return ranks.train(*arguments, **options).losses


@pytest.fixture(scope="module")
def pair(recipe, tmp_path_factory):
    """A run of two processes that was left alone, and its losses."""
    run = tmp_path_factory.mktemp("runs") / "two"
    return run, train(recipe, run, 2)


def test_two_processes_equal_one_with_the_same_total_batch(recipe, pair, tmp_path):
    run, losses = pair
    alone = train(recipe, tmp_path / "one", 1, "train.accumulate=2")
    assert len(losses) == len(alone) == STEPS
    assert losses == pytest.approx(alone, abs=1e-4)
    expected, got = load_file(tmp_path / "one/model.safetensors"), load_file(run / "model.safetensors")
    for name in expected:
        torch.testing.assert_close(*without_key_bias(name, got, expected), atol=1e-3, rtol=0)


def test_an_environment_that_torchrun_did_not_make_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.delenv("MASTER_PORT", raising=False)
    with (
        pytest.raises(RegardError, match=r"WORLD_SIZE is set .* but not MASTER_PORT"),
        team_of_torchrun(torch.device("cpu")),
    ):
        pass


def test_own_processes_equal_one(recipe, tmp_path):
    settings = ("train.accumulate=2", "model.dropout=0.1")
    alone = train(recipe, tmp_path / "one", 1, *settings, "train.processes=1")
    own = train(recipe, tmp_path / "own", 1, *settings, "train.processes=2")
    assert own == pytest.approx(alone, abs=1e-4)


@pytest.mark.slow
def test_own_processes_equal_one_with_muon(recipe, tmp_path):
    settings = ("train.accumulate=2", "train.optimiser=muon", "train.max_steps=20")
    one = train(recipe, tmp_path / "one", 1, *settings, "train.processes=1")
    two = train(recipe, tmp_path / "two", 1, *settings, "train.processes=2")
    assert two == pytest.approx(one, abs=1e-3)


def test_a_signal_to_the_leader_stops_all_and_the_run_goes_on(recipe, tmp_path):
    settings = ("train.accumulate=2", "train.processes=2", "train.max_steps=5000")
    arguments = train_command(recipe, tmp_path / "own", 1, *settings)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        wait_for_step(tmp_path / "own", 23)
        process.terminate()
        _, errors = process.communicate(timeout=240)
    assert process.returncode == 143, errors.decode()
    assert errors.count(b"saved at step") == 1
    train(recipe, tmp_path / "own", 1, "train.accumulate=2", "train.processes=2")
    lines = [json.loads(line) for line in (tmp_path / "own/log.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] >= STEPS


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the processes in /proc")
def test_when_a_worker_dies_the_leader_says_so(recipe, tmp_path):
    run = tmp_path / "own"
    arguments = train_command(recipe, run, 1, "train.accumulate=2", "train.processes=2", "train.max_steps=5000")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        kill_a_worker_after(run, 23, process.pid)
        _, errors = process.communicate(timeout=240)
    assert process.returncode == 2, errors.decode()
    assert b"has died" in errors
    assert b"Traceback" not in errors


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the processes in /proc")
def test_a_worker_that_dies_before_it_joins_is_not_waited_for(recipe, tmp_path):
    arguments = train_command(recipe, tmp_path / "own", 1, "train.accumulate=2", "train.processes=2")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        while not (workers := workers_of(process.pid)):
            time.sleep(0.01)
        os.kill(workers[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=240)
    assert process.returncode == 2, errors.decode()
    assert f"process {workers[0]} of this run has died".encode() in errors
    assert b"Traceback" not in errors


def test_validation_and_checkpoints_happen_once(pair):
    run, _ = pair
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "validation"] == [20, 40, 50]
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step-00000040", "step-00000050"]


def kill_a_worker_after(run: Path, step: int, starter: int) -> None:
    """Kill one of the processes that another started, once the run has logged a step."""
    wait_for_step(run, step)
    os.kill(workers_of(starter)[-1], signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the processes in /proc")
def test_two_machines_go_on_when_a_process_of_one_was_killed(recipe, pair, tmp_path):
    """Two torchruns on this machine stand for two machines, which need not count restarts alike."""
    run, environment = tmp_path / "run", {**os.environ, "OMP_NUM_THREADS": "1", "REGARD_RUN": str(tmp_path / "run")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = ["--rdzv-backend", "c10d", "--rdzv-id", "x", "--rdzv-endpoint", f"localhost:{free.getsockname()[1]}"]
    launcher = ["-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "2", *place]
    arguments = [sys.executable, *launcher, "-m", "regard", "train", str(recipe)]
    machines = [subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    try:
        kill_a_worker_after(run, 23, machines[1].pid)
        for machine in machines:
            _, errors = machine.communicate(timeout=240)
            assert machine.returncode == 0, errors.decode()
            assert b"a fault in regard" not in errors
    finally:
        for machine in machines:
            machine.terminate()
    expected, got = load_file(pair[0] / "model.safetensors"), load_file(run / "model.safetensors")
    assert all(torch.equal(got[name], expected[name]) for name in expected)


def gradients(output: Path, launcher: list[str], *overrides: str) -> dict[str, torch.Tensor]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, *launcher, str(GRADIENTS), str(output), *overrides]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return load_file(output)


@pytest.mark.parametrize("shard", ["false", "true"])
@pytest.mark.parametrize(
    "model",
    [
        (),
        ("model.tie=none", "model.norm=pre", "model.positions=learned", "model.output_bias=true"),
        ("train.consistency=2.0", "model.word_dropout=0.1"),
        ("train.risk=9.0", "model.dropout=0.0"),
    ],
    ids=["tied", "untied", "two passes", "candidates"],
)
def test_two_processes_have_the_gradients_of_one(tmp_path, model, shard):
    if shard == "true" and "train.risk=9.0" in model:
        pytest.skip("a risk needs whole weights")
    settings = (*model, "train.clip_norm=0.5")
    expected = gradients(tmp_path / "one.safetensors", [], *settings)
    got = gradients(tmp_path / "two.safetensors", TORCHRUN, *settings, f"train.shard={shard}")
    assert expected["norm"] > 0.5, "clipping must take place"
    assert got.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], atol=1e-5, rtol=1e-6)


@pytest.fixture(scope="module")
def sharded(recipe, tmp_path_factory):
    """A run of two processes that shared out their weights, and was left alone."""
    run = tmp_path_factory.mktemp("runs") / "sharded"
    return run, train(recipe, run, 1, *SHARDED)


def without_key_bias(name: str, *runs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """A tensor of several runs, less the bias of keys: it moves all scores alike, and so learns only noise."""
    parts = {"query_key_value.bias": (3, 1), "key_value.bias": (2, 0)}
    kept = [run[name] for run in runs]
    for ending, (count, key) in parts.items():
        if name.endswith("." + ending):
            chunks = [tensor.chunk(count) for tensor in kept]
            return [torch.cat([part for place, part in enumerate(chunk) if place != key]) for chunk in chunks]
    return kept


def validation_losses(run: Path) -> list[float]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["kind"] == "validation"]


def test_shared_out_weights_learn_as_whole_ones(pair, sharded):
    (whole, losses), (run, got) = pair, sharded
    assert got == pytest.approx(losses, abs=1e-4)
    expected, weights = load_file(whole / "model.safetensors"), load_file(run / "model.safetensors")
    assert weights.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(*without_key_bias(name, weights, expected), atol=1e-3, rtol=0)
    validations = [validation_losses(folder) for folder in (whole, run)]
    assert len(validations[0]) == 3
    assert validations[1] == pytest.approx(validations[0], abs=1e-4)


def test_shared_out_weights_are_whole_in_a_checkpoint(pair, sharded):
    folders = [run / "checkpoints/step-00000050/tensors.safetensors" for run, _ in (pair, sharded)]
    whole, of_parts = map(load_file, folders)
    assert {name: tensor.shape for name, tensor in of_parts.items()} == {
        name: tensor.shape for name, tensor in whole.items()
    }


@pytest.fixture(scope="module")
def ended(recipe, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "half"
    train(recipe, run, 1, *SHARDED, "train.max_steps=25")
    return run


@pytest.fixture
def half_way(ended, tmp_path):
    """A sharded run that ended at step 25, to go on with."""
    return shutil.copytree(ended, tmp_path / "run")


def test_a_sharded_run_resumes_to_the_bit(recipe, sharded, half_way):
    train(recipe, half_way, 1, *SHARDED)
    expected, got = (load_file(run / "model.safetensors") for run in (sharded[0], half_way))
    assert all(torch.equal(got[name], expected[name]) for name in expected)


def test_a_sharded_run_goes_on_in_one_process_and_back(recipe, sharded, half_way):
    _, losses = sharded
    train(recipe, half_way, 1, "train.accumulate=2", "train.processes=1", "train.max_steps=35")
    again = train(recipe, half_way, 2, "train.shard=true")
    assert again == pytest.approx(losses, abs=1e-4)
