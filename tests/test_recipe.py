"""Recipes: TOML and overrides in, a checked configuration out, and back."""

from pathlib import Path

import pytest

from regard.config import Config
from regard.errors import ConfigError
from regard.recipe import all_keys, format_config, load_config, override_config, parse_config

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_of_the_project_is_valid_and_comes_back_from_its_resolved_form(path: Path, tmp_path: Path) -> None:
    config = load_config(path)
    resolved = tmp_path / "config.toml"
    resolved.write_text(format_config(config), encoding="utf-8")
    assert load_config(resolved) == config
    assert config.data.train


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_of_the_project_keeps_the_checkpoints_that_it_averages(path: Path) -> None:
    train = load_config(path).train
    assert train.keep_last >= train.average_last


def test_published_tiny_recipe() -> None:
    config = load_config(RECIPES[0].parent / "multi30k-en-de-tiny.toml")
    model, train = config.model, config.train
    sizes = (model.encoder_layers, model.decoder_layers, model.width, model.feed_forward, model.heads)
    assert sizes == (4, 4, 128, 256, 4)
    assert (model.norm, model.activation, model.positions, model.tie) == ("post", "relu", "sinusoidal", "three-way")
    assert (model.dropout, model.attention_dropout, train.label_smoothing) == (0.3, 0.0, 0.1)
    assert (train.beta1, train.beta2, train.learning_rate, train.warmup_steps) == (0.9, 0.98, 5e-3, 2000)
    assert (train.batch_tokens, train.accumulate, train.max_steps, train.average_last) == (4096, 2, 8000, 10)


def test_override_lies_over_the_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text("seed = 3\n[train]\nmax_steps = 10\nwarmup_steps = 7\n")
    config = load_config(recipe, ["train.max_steps=600", "model.norm=pre", "tokenizer.shared=true"])
    assert (config.seed, config.train.max_steps, config.train.warmup_steps) == (3, 600, 7)
    assert (config.model.norm, config.tokenizer.shared) == ("pre", True)


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("data.source_language=de", "de"),
        ('data.source_language="de"', "de"),
        ("data.source_language = de ", "de"),
        ("data.source_language='a=b'", "a=b"),
        ("data.source_language=a=b", "a=b"),
    ],
)
def test_override_takes_bare_and_quoted_words(override: str, value: str) -> None:
    assert parse_config({}, [override]).data.source_language == value


def test_override_can_hold_a_whole_corpus() -> None:
    config = parse_config({}, ['data.train=[{source="a", target="b"}, {pairs="c.tsv", weight=0.5}]'])
    assert [corpus.pairs for corpus in config.data.train] == [None, "c.tsv"]


def test_overriding_does_not_change_the_given_values() -> None:
    values: dict = {"train": {"max_steps": 5}}
    parse_config(values, ["train.max_steps=6"])
    assert values == {"train": {"max_steps": 5}}


def test_preset_can_be_overridden() -> None:
    assert parse_config({}, ["model.preset=base"]).model.width == 512


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train": {"max_step": 5}}, "unknown key `train.max_step`; did you mean `train.max_steps`?"),
        ({"trian": {"max_steps": 5}}, "did you mean `train`"),
        ({"max_steps": 5}, "did you mean `train.max_steps`?"),
        ({"model": {"beam": 5}}, "did you mean `search.beam`?"),
        ({"xyzzy": 5}, "regard describe --keys"),
        ({"data": {"train": [{"sorce": "a", "target": "b"}]}}, "did you mean `data.train.0.source`?"),
        ({"train": {"max_steps": "many"}}, "`train.max_steps` is 'many'"),
        ({"train": 5}, "`train` is 5"),
        ({"data": {"train": "file.txt"}}, "`data.train` is 'file.txt'"),
        ({"data": {"train": [{"source": "a"}]}}, "either `source` and `target`"),
        ({"model": {"width": 130}}, "`width` (130) must be a multiple of `heads` (4)"),
    ],
)
def test_wrong_recipe_is_explained(values: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(values, where="r.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("r.toml: ")


def test_every_mistake_is_named_not_only_the_first() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"train": {"max_steps": 0, "beta3": 0.1}, "seed": "x"})
    assert all(name in str(caught.value) for name in ("train.max_steps", "train.beta3", "seed"))


@pytest.mark.parametrize("override", ["train.max_steps", "=5", " = 5", "train.max_steps.deep=1"])
def test_malformed_override_is_explained(override: str) -> None:
    with pytest.raises(ConfigError, match="max_steps"):
        parse_config({"train": {"max_steps": 5}}, [override])


def test_odd_characters_survive_writing_and_reading(tmp_path: Path) -> None:
    odd = 'a "quoted" \\ name\t\x7f\x01 🙂 中文.txt'
    config = parse_config({"data": {"train": [{"source": odd, "target": "b"}]}})
    path = tmp_path / "config.toml"
    path.write_text(format_config(config), encoding="utf-8")
    assert load_config(path) == config


def test_resolved_form_states_every_default() -> None:
    text = format_config(Config())
    for key in all_keys():
        name = key.rsplit(".", 1)[-1]
        section, _, field = key.rpartition(".")
        part = getattr(Config(), section) if section else Config()
        if getattr(part, field) is not None:
            assert f"{name} = " in text


def test_another_preset_brings_its_sizes_whichever_way_it_is_asked_for():
    config = override_config(Config(), ["model.heads=8"])
    larger = override_config(config, ["model.preset=base"]).model
    assert (larger.preset, larger.width, larger.encoder_layers, larger.dropout) == ("base", 512, 6, 0.1)
    assert override_config(config, ["model.preset=small"]).model.heads == 8, "it was not the preset's"
    assert override_config(config, ["model.preset=base", "model.width=256"]).model.width == 256
