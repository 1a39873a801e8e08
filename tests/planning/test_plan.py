"""A real plan of a small run, by the command and from Python."""

import json

import pytest
from tiny_world import write_tiny_corpus

import regard as package
from regard.models.describe import describe
from regard.recipe import format_config


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(format_config(write_tiny_corpus(tmp_path / "corpus")), encoding="utf-8")
    return path


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_plan_of_a_small_run(regard, recipe, tmp_path, processes):
    arguments = ("train.ema=0.9", "train.accumulate=2", f"train.processes={processes}", "tokenizer.dropout=0.1")
    finished = regard("plan", recipe, *arguments, "--steps", "3", "--json", tmp_path / "plan.json")
    assert finished.code == 0, finished.errors
    assert "It fits." in finished.output
    figures = json.loads((tmp_path / "plan.json").read_text())
    measured, expected = figures["measured"], figures["expected"]
    sizes = measured["vocabulary"]
    assert sum(measured["parameters"].values()) == describe(package.Config.model_validate(MODEL), *sizes).parameters
    assert measured["pairs"] == measured["epoch"]["pairs"] == 200
    assert measured["processes"] == measured["speed"]["processes"] == processes
    assert measured["speed"]["steps"] == 3
    assert measured["speed"]["tokens_per_second"] > 0
    assert measured["memory"]["fixed"] > 50e6
    assert measured["costs"]["checkpoint_bytes"] > 4 * 4 * sum(measured["parameters"].values())
    assert measured["costs"]["validation_seconds"] > 0
    assert expected["steps"] == 20
    assert expected["time"]["total"] >= expected["time"]["training"] > 0
    assert not (tmp_path / "runs").exists()


MODEL = {
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
}


@pytest.mark.slow
def test_a_run_that_is_there_lends_its_vocabulary(tiny_run):
    made = package.plan(tiny_run / "config.toml", run=tiny_run, steps=1)
    assert str(tiny_run) in made.facts.vocabulary_from
    assert made.exit_code == 0


@pytest.mark.slow
def test_a_hopeless_run_leaves_with_its_own_code(regard, recipe):
    finished = regard("plan", recipe, "train.max_steps=2000000000000", "--steps", "1")
    assert finished.code == 4
    assert "Hopeless." in finished.output
