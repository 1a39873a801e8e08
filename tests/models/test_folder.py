"""A model folder comes back as it was saved, and a damaged one is refused by name."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import ModelFolderError
from regard.models import build_model
from regard.models.folder import load_model, save_model
from regard.recipe import parse_config


@pytest.fixture
def saved(tmp_path):
    config = parse_config(
        {
            "tokenizer": {"vocabulary_size": 320},
            "model": {"width": 16, "feed_forward": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
        }
    )
    tokenizer = train_tokenizer(["a few words to learn a few words from"], config.tokenizer)
    model = build_model(config.model, tokenizer.vocabulary_size, tokenizer.vocabulary_size, seed=3).eval()
    save_model(tmp_path / "model", model, config, Tokenizers(tokenizer, tokenizer), "# A card\n")
    return tmp_path / "model", model, config


def test_a_model_comes_back_as_it_was(saved):
    folder, model, config = saved
    loaded = load_model(folder)
    assert loaded.config == config
    assert not loaded.model.training
    source = torch.randint(4, 200, (2, 5))
    mask = torch.ones_like(source, dtype=torch.bool)
    with torch.no_grad():
        assert torch.equal(loaded.model(source, mask, source), model(source, mask, source))


def test_shared_weights_are_stored_once(saved):
    folder, model, _ = saved
    assert set(load_file(folder / "model.safetensors")) == {name for name, _ in model.named_parameters()}


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


DAMAGES = {
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "no configuration": lambda folder: (folder / "config.toml").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "truncated weights": lambda folder: (folder / "model.safetensors").write_bytes(
        (folder / "model.safetensors").read_bytes()[:-100]
    ),
    "a pickle for weights": lambda folder: torch.save({}, folder / "model.safetensors"),
    "empty weights": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "a missing tensor": lambda folder: change_weights(
        folder, lambda weights: weights.pop("encoder.0.attention.output.bias")
    ),
    "a foreign tensor": lambda folder: change_weights(folder, lambda weights: weights.update(extra=torch.zeros(1))),
    "a wrong shape": lambda folder: change_weights(
        folder, lambda weights: weights.update({"encoder.0.attention.output.bias": torch.zeros(7)})
    ),
    "whole numbers": lambda folder: change_weights(
        folder, lambda weights: weights.update({"encoder.0.attention.output.bias": torch.zeros(16, dtype=torch.int64)})
    ),
    "a broken configuration": lambda folder: (folder / "config.toml").write_text("[model\n"),
    "an unknown key": lambda folder: (folder / "config.toml").write_text("[model]\nwidht = 3\n"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_by_name(saved, damage):
    folder, _, _ = saved
    DAMAGES[damage](folder)
    with pytest.raises(ModelFolderError, match=folder.name):
        load_model(folder)


def test_a_missing_folder_says_how_to_make_one(tmp_path):
    with pytest.raises(ModelFolderError, match="regard train"):
        load_model(tmp_path / "nowhere")
