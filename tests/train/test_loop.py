"""The loop learns, resumes to the bit, refuses what is not finite, and leaves well."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard import pipeline
from regard.errors import ConfigError, RegardError
from regard.pipeline import train_run
from regard.recipe import parse_config
from regard.train import loop, validation
from regard.train.checkpoint import CheckpointStore
from regard.train.precision import Precision
from regard.train.signals import Interrupted, stop_request

WORDS = ("red", "green", "blue", "one", "two", "three", "cat", "dog", "bird", "house", "tree", "sees", "has", "likes")


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A language whose translation is each word spelled backwards, in reverse order."""
    tmp_path = tmp_path_factory.mktemp("corpus")
    generator = torch.Generator().manual_seed(0)
    lines = [
        [WORDS[index] for index in torch.randint(len(WORDS), (2 + number % 5,), generator=generator)]
        for number in range(400)
    ]
    for name, part in (("train", lines[:340]), ("valid", lines[340:])):
        (tmp_path / f"{name}.en").write_text("".join(" ".join(words) + "\n" for words in part))
        backwards = (" ".join(word[::-1] for word in reversed(words)) + "\n" for words in part)
        (tmp_path / f"{name}.xx").write_text("".join(backwards))
    return tmp_path


def recipe(corpus: Path, *overrides: str):
    def files(name):
        return [{"source": str(corpus / f"{name}.en"), "target": str(corpus / f"{name}.xx")}]

    values = {
        "data": {"target_language": "xx", "train": files("train"), "validation": files("valid")},
        "tokenizer": {"vocabulary_size": 300, "dropout": 0.1},
        "model": {
            "width": 16,
            "feed_forward": 16,
            "heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.1,
        },
        "train": {
            "max_steps": 30,
            "batch_tokens": 300,
            "accumulate": 2,
            "warmup_steps": 5,
            "validate_every": 10,
            "validation_sentences": 10,
            "log_every": 5,
            "ema": 0.9,
            "average_last": 2,
            "threads": 1,
        },
    }
    return parse_config(values, overrides)


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """A run that was left alone."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    train_run(recipe(corpus), run)
    return run


def log_of(run: Path, kind: str):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def interfere_at(monkeypatch, step: int, action):
    """Do something in the middle of training, at the beginning of a step."""
    original = loop.Trainer._step

    def interfering(self, *arguments):
        if self.session.standing.step + 1 == step:
            action()
        return original(self, *arguments)

    monkeypatch.setattr(loop.Trainer, "_step", interfering)


def test_training_learns_and_leaves_a_model_folder(whole):
    training = log_of(whole, "train")
    assert [line["step"] for line in training] == [5, 10, 15, 20, 25, 30]
    assert training[-1]["loss"] < training[0]["loss"] - 0.5
    for name in ("model.safetensors", "config.toml", "tokenizer.json", "README.md"):
        assert (whole / name).is_file()


class Killed(BaseException):
    """Stands for a kill: nothing in the program may catch it."""


def kill():
    raise Killed


@pytest.mark.parametrize("step", [4, 10, 17, 29])
def test_a_killed_run_resumes_to_the_bit(corpus, whole, tmp_path, monkeypatch, step):
    with monkeypatch.context() as patch:
        interfere_at(patch, step, kill)
        with pytest.raises(Killed):
            train_run(recipe(corpus), tmp_path / "killed")
    train_run(recipe(corpus), tmp_path / "killed")
    assert_equal_runs(whole, tmp_path / "killed")


def test_a_killed_run_with_muon_resumes_to_the_bit(corpus, tmp_path, monkeypatch):
    config = recipe(corpus, "train.optimiser=muon", "train.weight_decay=0.1", "train.clip_norm=1.0")
    train_run(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interfere_at(patch, 17, kill)
        with pytest.raises(Killed):
            train_run(config, tmp_path / "killed")
    train_run(config, tmp_path / "killed")
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


def kept_in(run: Path):
    return sorted((run / "checkpoints").iterdir())


def assert_equal_runs(one: Path, other: Path):
    expected, got = (load_file(run / "model.safetensors") for run in (one, other))
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    losses = [[(line["step"], line["loss"]) for line in log_of(run, "train")] for run in (one, other)]
    assert [path.name[:13] for path in kept_in(one)] == [path.name[:13] for path in kept_in(other)]
    # what precedes the first line after a resume is averaged over fewer steps
    assert [step for step, _ in losses[0]] == [step for step, _ in losses[1]]
    assert [line["loss"] for line in log_of(one, "validation")] == [
        line["loss"] for line in log_of(other, "validation")
    ]


@pytest.mark.parametrize(
    ("number", "code", "step"),
    [
        pytest.param(signal.SIGTERM, 143, 13, id="SIGTERM"),
        pytest.param(signal.SIGINT, 130, 13, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, 20, id="before a validation"),
        pytest.param(signal.SIGTERM, 143, 23, id="between two checkpoints of the mean"),
        pytest.param(signal.SIGTERM, 143, 30, id="at the last step"),
    ],
)
def test_a_signal_saves_and_leaves_and_the_run_goes_on(corpus, whole, tmp_path, monkeypatch, number, code, step):
    with monkeypatch.context() as patch:
        interfere_at(patch, step, lambda: os.kill(os.getpid(), number))
        with pytest.raises(Interrupted, match=f"saved at step {step}") as raised:
            train_run(recipe(corpus), tmp_path / "stopped")
    assert raised.value.exit_code == code
    assert (tmp_path / f"stopped/checkpoints/step-{step:08d}").is_dir()
    train_run(recipe(corpus), tmp_path / "stopped", must_resume=True)
    assert_equal_runs(whole, tmp_path / "stopped")


def test_a_signal_breaks_off_a_validation_which_is_made_up_for(corpus, whole, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("went on")

    with monkeypatch.context() as patch:
        patch.setattr(validation, "batch_loss", interrupted)
        with pytest.raises(Interrupted, match="saved at step 10") as raised:
            train_run(recipe(corpus), tmp_path / "stopped")
    assert raised.value.exit_code == 143
    assert log_of(tmp_path / "stopped", "validation") == []
    train_run(recipe(corpus), tmp_path / "stopped")
    assert_equal_runs(whole, tmp_path / "stopped")


@pytest.mark.parametrize("part", ["train_tokenizer", "build_validator", "plot_curves"])
def test_a_signal_before_and_after_training_leaves_at_once(corpus, whole, tmp_path, monkeypatch, part):
    def interrupted(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("went on")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, part, interrupted)
        with pytest.raises(Interrupted, match="nothing is lost") as raised:
            train_run(recipe(corpus), tmp_path / "stopped")
    assert raised.value.exit_code == 143
    train_run(recipe(corpus), tmp_path / "stopped")
    assert_equal_runs(whole, tmp_path / "stopped")


def test_what_a_library_swallows_is_raised_at_the_end():
    with pytest.raises(Interrupted), stop_request() as stop, stop.at_once(), suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)


def test_leftovers_of_a_killed_run_are_swept(corpus, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / ".model.safetensors.0123abcd.part").write_bytes(b"torn")
    train_run(recipe(corpus, "train.max_steps=1"), run)
    assert not (run / ".model.safetensors.0123abcd.part").exists()


def test_more_steps_can_be_asked_of_a_finished_run(corpus, tmp_path):
    train_run(recipe(corpus, "train.max_steps=20"), tmp_path / "run")
    result = train_run(recipe(corpus, "train.max_steps=25"), tmp_path / "run")
    assert result.outcome.steps == 25


def test_another_model_is_not_trained_in_the_folder_of_a_run(corpus, tmp_path):
    train_run(recipe(corpus, "train.max_steps=2"), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"another `model\.dropout`"):
        train_run(recipe(corpus, "train.max_steps=2", "model.dropout=0.2"), tmp_path / "run")
    with pytest.raises(ConfigError, match="another `seed`"):
        train_run(recipe(corpus, "train.max_steps=2", "seed=2"), tmp_path / "run")


def test_resuming_needs_a_run(corpus, tmp_path):
    with pytest.raises(RegardError, match="no run to resume"):
        train_run(recipe(corpus), tmp_path / "run", must_resume=True)


def poison_steps(monkeypatch, steps):
    """Make the loss of some steps infinite."""
    original = loop.Trainer._gradients

    def poisoned(self, batches, step, stop):
        losses = original(self, batches, step, stop)
        if step in steps:
            for parameter in self.model.parameters():
                parameter.grad.fill_(float("nan"))
        return losses

    monkeypatch.setattr(loop.Trainer, "_gradients", poisoned)


def test_a_gradient_that_is_not_finite_is_not_applied(corpus, tmp_path, monkeypatch):
    poison_steps(monkeypatch, {3, 4, 7})
    train_run(recipe(corpus, "train.max_steps=10", "train.max_bad_steps=3"), tmp_path / "run")
    bad = log_of(tmp_path / "run", "bad")
    assert [line["step"] for line in bad] == [3, 4, 7]
    assert all(line["pairs"] for line in bad)
    weights = load_file(tmp_path / "run/model.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_too_many_bad_steps_in_a_row_stop_the_run(corpus, tmp_path, monkeypatch):
    poison_steps(monkeypatch, range(2, 100))
    with pytest.raises(RegardError, match="3 steps in a row"):
        train_run(recipe(corpus, "train.max_bad_steps=3"), tmp_path / "run")


def test_patience_ends_a_run_early(corpus, tmp_path):
    settings = ("train.learning_rate=1e-12", "train.patience=1", "train.max_steps=200", "train.ema=0.0")
    result = train_run(recipe(corpus, *settings, "train.choose_by=bleu"), tmp_path / "run")
    assert result.outcome.steps == 20


def test_patience_that_ran_out_is_remembered(corpus, tmp_path, monkeypatch):
    settings = ("train.learning_rate=1e-12", "train.patience=1", "train.max_steps=200", "train.ema=0.0")
    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "_finish", lambda trainer, stop: kill())
        with pytest.raises(Killed):
            train_run(recipe(corpus, *settings, "train.choose_by=bleu"), tmp_path / "run")
    result = train_run(recipe(corpus, *settings, "train.choose_by=bleu"), tmp_path / "run")
    assert result.outcome.steps == 20


@pytest.mark.parametrize("ema", ["0.0", "0.9"])
def test_the_mean_of_the_best_checkpoints_is_taken_where_it_is_no_worse(corpus, tmp_path, monkeypatch, ema):
    settings = ("train.average_last=1", "train.average_best=2", "train.keep_best=0", f"train.ema={ema}")
    monkeypatch.setattr(loop.Trainer, "_score", lambda trainer, validation: 1.0)  # all are equal: none is worse
    result = train_run(recipe(corpus, *settings), tmp_path / "run")
    assert result.outcome.chosen == "the mean of the best 2 checkpoints"
    best = CheckpointStore(tmp_path / "run/checkpoints").best_few(2)
    assert [checkpoint.step for checkpoint in best] == [10, 20]
    prefix = "model." if ema == "0.0" else "average.weights."
    for name, tensor in load_file(tmp_path / "run/model.safetensors").items():
        torch.testing.assert_close(tensor, sum(each.tensors()[prefix + name] for each in best) / 2)


def test_who_translates_to_judge_has_all_cores(corpus, tmp_path, monkeypatch):
    translating, stepping = [], []
    original, step = pipeline._bleu, loop.Trainer._step

    def bleu(*given):
        translating.append(torch.get_num_threads())
        return original(*given)

    def stepped(self, *given):
        if not stepping:
            torch.set_num_threads(1)  # as in one of three processes
        stepping.append(torch.get_num_threads())
        return step(self, *given)

    monkeypatch.setattr(pipeline, "_bleu", bleu)
    monkeypatch.setattr(loop.Trainer, "_step", stepped)
    settings = ("train.threads=3", "train.processes=1", "train.validation_sentences=3")
    train_run(recipe(corpus, *settings, "train.max_steps=4", "train.validate_every=2"), tmp_path)
    assert set(translating) == {3}
    assert stepping == [1, 1, 1, 1]


def test_epochs_limit_a_run(corpus, tmp_path):
    result = train_run(recipe(corpus, "train.max_epochs=2", "train.max_steps=10000"), tmp_path / "run")
    assert result.outcome.epochs == 2
    assert 2 <= result.outcome.steps < 100


def test_without_validation_data_the_last_weights_are_kept(corpus, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(pipeline, "note", said.append)
    config = recipe(corpus, "train.max_steps=4", "train.average_last=1", "train.average_best=2", "data.validation=[]")
    result = train_run(config, tmp_path / "run")
    assert result.outcome.validation is None
    assert (tmp_path / "run/model.safetensors").is_file()
    assert any("average_best" in line and "do nothing" in line for line in said)


class Scaled(Precision):
    """The scaling of fp16 around float32: by powers of two, it changes nothing but the gradients' exponents."""

    def __init__(self):
        super().__init__("fp16", "cpu", batch_tokens=300)
        self.dtype = None
        self._scaler.set_growth_interval(7)


@pytest.fixture
def scaled(monkeypatch):
    monkeypatch.setattr(pipeline, "agreed_precision", lambda *arguments: Scaled())


def scaling_of(run: Path):
    return CheckpointStore(run / "checkpoints").latest().facts["scaling"]


def test_scaled_gradients_train_as_others_and_resume_to_the_bit(corpus, whole, tmp_path, monkeypatch, scaled):
    train_run(recipe(corpus), tmp_path / "scaled")
    assert_equal_runs(whole, tmp_path / "scaled")
    assert scaling_of(tmp_path / "scaled")["scale"] == 2**7 * 2**4
    with monkeypatch.context() as patch:
        interfere_at(patch, 17, kill)
        with pytest.raises(Killed):
            train_run(recipe(corpus), tmp_path / "killed")
    train_run(recipe(corpus), tmp_path / "killed")
    assert_equal_runs(whole, tmp_path / "killed")
    assert scaling_of(tmp_path / "killed") == scaling_of(tmp_path / "scaled")


def test_a_gradient_that_was_scaled_too_far_is_no_bad_step(corpus, tmp_path, monkeypatch, scaled):
    poison_steps(monkeypatch, {3, 4, 7})
    train_run(recipe(corpus, "train.max_steps=8", "train.max_bad_steps=1"), tmp_path / "run")
    assert log_of(tmp_path / "run", "bad") == []
    overflows = [(line["step"], line["next_scale"]) for line in log_of(tmp_path / "run", "overflow")]
    assert overflows == [(3, 2**6), (4, 2**5), (7, 2**4)]
    weights = load_file(tmp_path / "run/model.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_gradients_that_no_scale_makes_finite_are_bad_steps(corpus, tmp_path, monkeypatch, scaled):
    poison_steps(monkeypatch, range(1, 100))
    with pytest.raises(RegardError, match="3 steps in a row"):
        train_run(recipe(corpus, "train.max_bad_steps=3"), tmp_path / "run")
    assert [line["step"] for line in log_of(tmp_path / "run", "bad")] == [17, 18, 19]
