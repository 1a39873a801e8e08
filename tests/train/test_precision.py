"""The precision of a run: chosen by the device, low on a CPU only after a trial, with scaled gradients where needed."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tiny_world import write_tiny_corpus

from regard import pipeline
from regard.config import ModelConfig
from regard.errors import ConfigError
from regard.native import forms
from regard.native.forms import Form
from regard.recipe import format_config, parse_config
from regard.train import precision as precision_module
from regard.train import probe as probing
from regard.train.checkpoint import CheckpointStore
from regard.train.precision import Precision, choose_precision, has_own_products
from regard.train.probe import Finding, agreed_precision, probe
from regard.train.team import Team
from regard.train.trial import seconds_of_a_step

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
TRIAL = {"precision": "bf16"}


def unasked(_wanted):
    raise AssertionError("no trial was wanted")


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp16")])
def test_a_gpu_takes_bf16_where_it_has_it(monkeypatch, native, chosen):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native or including_emulation)
    assert choose_precision("auto", CUDA, unasked) == chosen


@pytest.mark.parametrize("wanted", ["fp32", "bf16", "fp16"])
def test_a_gpu_takes_what_is_asked_for(wanted):
    assert choose_precision(wanted, CUDA, unasked) == wanted


@pytest.mark.parametrize("wanted", ["auto", "fp32"])
def test_a_cpu_takes_fp32_without_a_trial(wanted):
    assert choose_precision(wanted, CPU, unasked) == "fp32"


def test_a_cpu_takes_low_precision_only_after_a_trial():
    assert choose_precision("bf16", CPU, lambda wanted: f"tried {wanted}") == "tried bf16"


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(
    ("code", "runs", "faster", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", False, False, "died of SIGILL"),
        ("raise SystemExit(3)", False, False, "failed with exit code 3"),
        ("print('nothing of use')", False, False, "gave no times"),
        ("print('{\"fp32\": 1.0}')", False, False, "gave no times"),
        ('print(\'{"fp32": 1.0, "bf16": 2.5}\')', True, False, "2.50 times as long"),
        ('print(\'{"fp32": 1.0, "bf16": 1.0}\')', True, False, "1.00 times as long"),
        ('print(\'{"fp32": 1.0, "bf16": 0.5}\')', True, True, "0.50 times as long"),
    ],
)
def test_whatever_a_trial_does_it_is_survived(code, runs, faster, reason):
    finding = probe(TRIAL, child(code))
    assert (finding.runs, finding.faster) == (runs, faster)
    assert reason in finding.reason


def test_a_trial_that_hangs_is_ended():
    finding = probe(TRIAL, child("import time; time.sleep(600)"), patience=0.5)
    assert (finding.runs, finding.faster) == (False, False)
    assert "not over after 0.5 seconds" in finding.reason


def test_a_trial_that_cannot_be_started():
    assert "could not be started" in probe(TRIAL, ("/no/such/program",)).reason


def test_a_trial_gets_its_sizes_and_gives_times():
    sizes = {"width": 8, "feed_forward": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    trial = {"precision": "fp32", "threads": 1, "vocabularies": [20, 30], "model": sizes, "own": False}
    assert 0 < seconds_of_a_step(trial)["fp32"] < math.inf
    echo = "import sys, json; t = json.load(sys.stdin); print(json.dumps({'fp32': 3.0, t['precision']: t['threads']}))"
    assert probe({**trial, "precision": "fp16", "threads": 2}, child(echo)).faster


@pytest.fixture
def agree(monkeypatch, tmp_path):
    """Ask for bf16 on a CPU, with a trial that finds what it is told to; gives the precision and what was said."""
    sizes = {"width": 8, "feed_forward": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    config = parse_config({"model": sizes, "train": {"precision": "bf16"}})
    model = pipeline.build_model(config.model, 20, 30)

    def asked(runs: bool, faster: bool) -> tuple[str, list[str]]:
        notes: list[str] = []
        monkeypatch.setattr(probing, "note", notes.append)
        monkeypatch.setattr(probing, "probe", lambda trial: Finding(runs, faster, f"it was tried in {trial['model']}"))
        return agreed_precision(config, model, tmp_path, CPU, Team()).name, notes

    return asked


@pytest.mark.parametrize(
    ("runs", "faster", "name"), [(True, True, "bf16"), (True, False, "fp32"), (False, False, "fp32")]
)
def test_what_a_trial_found_is_said_once(agree, runs, faster, name):
    chosen, notes = agree(runs, faster)
    assert chosen == name
    assert len(notes) == 1
    assert notes[0].startswith(f"training in {name}: bf16 was asked for, and it was tried in {{'architecture'")


def test_a_run_keeps_what_its_first_trial_found(agree):
    assert agree(True, False)[0] == "fp32"
    assert agree(True, True) == ("fp32", ["going on in fp32: bf16 was not faster when this run began"])


def test_a_run_keeps_low_precision_where_that_runs(agree):
    assert agree(True, True)[0] == "bf16"
    assert agree(True, False)[0] == "bf16"
    assert agree(False, False)[0] == "fp32", "on a machine that cannot"
    assert agree(True, False)[0] == "bf16"


@pytest.mark.parametrize("content", ["", "[]", "null", '{"bf16": 7}', '{"bf16": "fp8"}', '{"bf16": ["fp32"]}'])
def test_a_memory_that_cannot_be_read_is_none(agree, tmp_path, content):
    (tmp_path / "precision.json").write_text(content)
    assert agree(True, True)[0] == "bf16"
    assert json.loads((tmp_path / "precision.json").read_text())["bf16"] == "bf16"


def test_a_run_that_goes_on_with_other_products_says_so(agree, monkeypatch, tmp_path):
    monkeypatch.setattr(probing, "has_own_products", lambda *_: True)
    monkeypatch.setattr(probing, "form_of_bf16", lambda: Form.PAIRS)
    assert len(agree(True, True)[1]) == 1
    kept = {"bf16": "bf16", "products": "regard's in vectors"}
    assert json.loads((tmp_path / "precision.json").read_text()) == kept
    assert len(agree(True, True)[1]) == 1
    words = "its products were regard's in vectors when this run began, and are {} now: it will end with other bits"
    monkeypatch.setattr(probing, "form_of_bf16", lambda: Form.ROUNDED_TILES)
    assert agree(True, True)[1][1:] == [words.format("regard's in tiles")]
    monkeypatch.setattr(probing, "has_own_products", lambda *_: False)
    assert agree(True, True)[1][1:] == [words.format("torch's")]
    assert len(agree(False, False)[1]) == 1, "fp32 has no other products than at its beginning"
    (tmp_path / "precision.json").write_text('{"bf16": "bf16"}')
    assert len(agree(True, True)[1]) == 1, "a run of an earlier version does not know"


def test_without_products_of_our_own_bf16_is_left_to_torch(monkeypatch):
    """As on a processor without the instructions."""
    monkeypatch.setattr(precision_module, "takes_bf16", lambda: False)
    monkeypatch.setattr(forms, "takes_bf16", lambda: False)
    model = ModelConfig(width=64, heads=2)
    assert not has_own_products("bf16", CPU, model)
    with forms.products_in_bf16():
        assert not forms.asked_for_bf16()
    with Precision("bf16").autocast(), Precision("bf16").stepping():
        assert torch.is_autocast_enabled("cpu")
        assert not forms.asked_for_bf16()


class Others(Team):
    """A team in which another process has no products of our own."""

    def gathered(self, values):
        return [list(values), [0.0]]


@pytest.mark.parametrize(("team", "own"), [(Team(), True), (Others(), False)])
def test_all_processes_have_products_of_our_own_or_none(team, own, tmp_path, monkeypatch):
    monkeypatch.setattr(probing, "has_own_products", lambda *_: True)
    monkeypatch.setattr(probing, "probe", lambda trial: Finding(True, True, f"own: {trial['own']}"))
    config = parse_config({"model": {"width": 32, "heads": 2}, "train": {"precision": "bf16"}})
    model = pipeline.build_model(config.model, 20, 30)
    precision = agreed_precision(config, model, tmp_path, CPU, team)
    assert (precision.name, precision.own) == ("bf16", own)


# Scaling


def parameter_and_optimiser():
    parameter = torch.nn.Parameter(torch.tensor([3.0]))
    return parameter, torch.optim.Adam([parameter], fused=True)


def step(precision: Precision, factor: float) -> tuple[float, bool]:
    """The gradient of `factor * p`, and whether the scale was to blame."""
    parameter, optimiser = parameter_and_optimiser()
    precision.backward((parameter * factor).sum())
    precision.unscale(optimiser)
    assert parameter.grad is not None
    return parameter.grad.item(), precision.adapt()


def test_gradients_come_back_as_they_were():
    precision = Precision("fp16", "cpu", batch_tokens=4096)
    assert step(precision, 0.1) == (pytest.approx(0.1, rel=1e-7), False)
    assert precision.scale == 2**16 / 4096


def test_other_precisions_scale_nothing():
    for name in ("fp32", "bf16"):
        precision = Precision(name)
        assert step(precision, math.inf) == (math.inf, False)
        assert precision.state() == {}


def test_a_scale_is_to_blame_until_it_is_that_of_one_token():
    precision = Precision("fp16", "cpu", batch_tokens=1000)
    assert precision.scale == 2**16 / 1024
    blamed = [step(precision, math.inf)[1] for _ in range(20)]
    assert blamed == [True] * 16 + [False] * 4


def test_scaling_goes_on_where_it_stood():
    one, other = (Precision("fp16", "cpu", batch_tokens=8) for _ in range(2))
    for factor in (1.0, math.inf, 1.0, 1.0):
        step(one, factor)
    state = json.loads(json.dumps(one.state()))
    assert state["scale"] == 2**12
    other.restore(state)
    assert other.state() == one.state()
    step(one, 1.0)
    step(other, 1.0)
    assert other.state() == one.state()
    Precision("bf16").restore(state)  # of no use there, and no fault


# Devices


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize(
    ("name", "number", "device"),
    [("auto", 0, "cuda:0"), ("cuda", 1, "cuda:1"), ("cuda:1", 0, "cuda:1"), ("cpu", 1, "cpu")],
)
def test_each_process_of_a_machine_has_a_gpu_of_its_own(two_gpus, name, number, device):
    assert str(pipeline.device_of(parse_config({"train": {"device": name}}), number)) == device


def test_more_processes_than_gpus_are_refused(two_gpus):
    with pytest.raises(ConfigError, match=r"no cuda:2 here, for torch finds 2 CUDA devices"):
        pipeline.device_of(parse_config({}), 2)


@dataclass
class Run:
    """A run by the command line, in a child process that leaves alone the instructions of which some machines die."""

    folder: Path
    errors: str

    @classmethod
    def of(cls, recipe: Path, folder: Path, precision: str, native: str = "1") -> "Run":
        own = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "OMP_NUM_THREADS": "1", "REGARD_NATIVE": native}
        environment = {**os.environ, **own}
        settings = [f"train.precision={precision}", "train.log_every=1", "train.max_steps=12", "train.threads=1"]
        command = [sys.executable, "-m", "regard", "train", str(recipe), "--run", str(folder), *settings]
        child = subprocess.run(command, env=environment, capture_output=True, timeout=240)
        assert child.returncode == 0, child.stderr.decode()
        return cls(folder, child.stderr.decode())

    def losses(self) -> list[float]:
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        assert not any(line["kind"] in ("bad", "overflow") for line in lines)
        return [line["loss"] for line in lines if line["kind"] == "train"]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "recipe.toml").write_text(format_config(write_tiny_corpus(folder)))
    return folder / "recipe.toml"


@pytest.fixture(scope="module")
def full_losses(recipe, tmp_path_factory):
    return Run.of(recipe, tmp_path_factory.mktemp("runs") / "full", "fp32").losses()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "native"), [("bf16", "1"), ("bf16", "0"), ("fp16", "1")])
def test_a_run_in_low_precision_learns_as_one_in_full(recipe, full_losses, tmp_path, name, native):
    (tmp_path / "precision.json").write_text(json.dumps({name: name}))  # it ran once, so it need not be faster
    run = Run.of(recipe, tmp_path, name, native)
    assert f"training in {name}: {name} was asked for, and in a trial its steps took" in run.errors
    assert run.losses() == pytest.approx(full_losses, rel=0.01)
    assert run.losses() != full_losses
    checkpoint = CheckpointStore(tmp_path / "checkpoints").latest()
    assert bool(checkpoint.facts["scaling"]) == (name == "fp16")
