"""Fine-tuning: a run begins with the vocabulary and the weights of a model that is there already."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_world import write_tiny_corpus

from regard import pipeline
from regard.errors import ConfigError, ModelFolderError
from regard.models.folder import load_model
from regard.pipeline import train_run
from regard.recipe import load_config, override_config
from regard.train import checkpoint, loop
from regard.train.checkpoint import CheckpointStore


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)


@pytest.fixture
def config(tiny_run, tmp_path):
    """A recipe for other text than that of the model which it begins with."""
    own = write_tiny_corpus(tmp_path / "own")
    lines = (tmp_path / "own" / "train.fr").read_text().replace("pommes", "poires")
    (tmp_path / "own" / "train.fr").write_text(lines)
    taken = {section: getattr(load_config(tiny_run / "config.toml"), section) for section in ("model", "tokenizer")}
    return override_config(own.model_copy(update=taken), [f"model.start={tiny_run}", "train.max_steps=4"])


def weights_of(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def test_the_first_step_is_made_from_the_weights_of_that_model(config, tiny_run, tmp_path, monkeypatch):
    seen = []
    step = loop.Trainer._step

    def watched(self, *arguments):
        seen.append({name: tensor.detach().clone() for name, tensor in self.model.named_parameters()})
        return step(self, *arguments)

    monkeypatch.setattr(loop.Trainer, "_step", watched)
    train_run(config, tmp_path / "run")
    start = dict(load_model(tiny_run).model.named_parameters())
    assert all(torch.equal(seen[0][name], start[name]) for name in start)
    assert not all(torch.equal(seen[-1][name], start[name]) for name in start)
    before, after = load_model(tiny_run), load_model(tmp_path / "run")
    assert before.tokenizers.source.to_json() == after.tokenizers.source.to_json()


def test_it_starts_lower_than_a_new_model(config, tmp_path):
    as_it_is = override_config(config, ["train.max_steps=1", "train.learning_rate=1e-9"])
    without = as_it_is.model_copy(update={"model": config.model.model_copy(update={"start": None})})
    tuned, fresh = (train_run(each, tmp_path / str(n)).outcome for n, each in enumerate((as_it_is, without)))
    assert tuned.validation.loss < fresh.validation.loss - 0.5


def test_an_interrupted_run_goes_on_from_its_own_checkpoint(config, tmp_path):
    whole = override_config(config, ["train.validate_every=2"])
    train_run(whole, tmp_path / "whole")
    train_run(override_config(whole, ["train.max_steps=2"]), tmp_path / "parts")
    assert CheckpointStore(tmp_path / "parts" / "checkpoints", 2, 1).latest_step() == 2
    train_run(whole, tmp_path / "parts")
    one, other = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert all(torch.equal(one[name], other[name]) for name in one)


class Killed(BaseException):
    """Stands for a kill: nothing in the program may catch it."""


def test_a_run_killed_in_its_first_save_begins_with_that_model_again(config, tmp_path, monkeypatch):
    def kill(*_):
        raise Killed

    train_run(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_tensors", kill)
        with pytest.raises(Killed):
            train_run(config, tmp_path / "killed")
    assert list((tmp_path / "killed" / "checkpoints").iterdir()) == []
    train_run(config, tmp_path / "killed")
    one, other = weights_of(tmp_path / "whole"), weights_of(tmp_path / "killed")
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.width=32", r"`model\.width` is 32, but the model of `model\.start` \(.*\) has 16"),
        ("model.norm=pre", r"`model\.norm` is 'pre', but .* has 'post'"),
        ("tokenizer.vocabulary_size=400", r"`tokenizer\.vocabulary_size` is 400, but .* has 320"),
    ],
)
def test_another_form_is_refused_by_key(change, message, config, tmp_path):
    with pytest.raises(ConfigError, match=message):
        train_run(override_config(config, [change]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_does_not_change_a_model_may_differ(config, tmp_path):
    train_run(override_config(config, ["model.dropout=0.2", "tokenizer.dropout=0.1"]), tmp_path / "run")


def test_a_folder_without_a_model_is_named(config, tmp_path):
    with pytest.raises(ModelFolderError, match="nowhere: no such model folder"):
        train_run(override_config(config, [f"model.start={tmp_path / 'nowhere'}"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()
