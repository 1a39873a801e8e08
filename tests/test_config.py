"""The configuration: strict, frozen, and the same after writing and reading."""

import pytest
from pydantic import ValidationError

from regard.config import PRESETS, Config, CorpusConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainConfig


def test_default_configuration_is_the_tiny_preset() -> None:
    model = Config().model
    assert {name: getattr(model, name) for name in PRESETS["tiny"]} == PRESETS["tiny"]


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_fills_in_what_is_not_given(preset: str) -> None:
    model = ModelConfig.model_validate({"preset": preset, "heads": 2})
    assert model.heads == 2
    assert model.width == PRESETS[preset]["width"]
    assert model.encoder_layers == PRESETS[preset]["encoder_layers"]


def test_base_preset_is_the_base_model_of_the_paper() -> None:
    model = ModelConfig.model_validate({"preset": "base"})
    sizes = (model.encoder_layers, model.decoder_layers, model.width, model.feed_forward, model.heads, model.dropout)
    assert sizes == (6, 6, 512, 2048, 8, 0.1)


def test_configuration_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Config().train.max_steps = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("section", "values", "named"),
    [
        (TrainConfig, {"max_steps": 0}, "max_steps"),
        (TrainConfig, {"max_steps": 1.5}, "max_steps"),
        (TrainConfig, {"max_steps": "600"}, "max_steps"),
        (TrainConfig, {"max_steps": True}, "max_steps"),
        (TrainConfig, {"learning_rate": float("nan")}, "learning_rate"),
        (TrainConfig, {"learning_rate": float("inf")}, "learning_rate"),
        (TrainConfig, {"label_smoothing": 1.0}, "label_smoothing"),
        (TrainConfig, {"tensorboard": 1}, "tensorboard"),
        (TokenizerConfig, {"kind": "sentencepiece"}, "kind"),
        (TokenizerConfig, {"dropout": -0.1}, "dropout"),
        (SearchConfig, {"beam": 0}, "beam"),
        (SearchConfig, {"beam": 101}, "beam"),
        (ModelConfig, {"width": 130, "heads": 4}, "multiple of `heads`"),
        (ModelConfig, {"width": 3, "heads": 1}, "must be even"),
        (ModelConfig, {"width": 12, "heads": 4, "positions": "rotary"}, "must be even for rotary"),
        (CorpusConfig, {"source": "a"}, "give either"),
        (CorpusConfig, {"target": "a"}, "give either"),
        (CorpusConfig, {}, "give either"),
        (CorpusConfig, {"pairs": "a", "source": "b"}, "give either"),
        (CorpusConfig, {"pairs": "a", "source": "b", "target": "c"}, "give either"),
        (CorpusConfig, {"pairs": "a", "weight": 0.0}, "weight"),
        (CorpusConfig, {"pairs": "a", "epochs": 0}, "epochs"),
        (
            Config,
            {"data": {"train": [{"pairs": "a", "epochs": 1}, {"pairs": "b", "epochs": 2}]}},
            "leave it out of one",
        ),
        (Config, {"seed": -1}, "seed"),
        (Config, {"tokenizer": {"shared": False}}, "three-way"),
        (Config, {"tokenizer": {"kind": "unigram", "dropout": 0.1}}, "tokenizer.dropout"),
        (Config, {"train": {"weight_decay": 0.1}}, "train.weight_decay"),
        (TrainConfig, {"muon_learning_rate": 0.0}, "muon_learning_rate"),
        (TrainConfig, {"muon_momentum": 1.0}, "muon_momentum"),
        (Config, {"colour": "red"}, "colour"),
    ],
)
def test_wrong_value_is_refused_by_name(section: type, values: dict, named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        section.model_validate(values)


def test_separate_vocabularies_are_fine_without_three_way_tying() -> None:
    config = Config.model_validate({"tokenizer": {"shared": False}, "model": {"tie": "target"}})
    assert not config.tokenizer.shared
