"""The table of levers: every lever is a real key, runs are done once, and validation data alone is looked at."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from tiny_world import write_tiny_corpus

from regard.errors import RegardError
from regard.recipe import format_config, load_config

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import levers
import training_runs
from levers import LEVERS, Lever, Measured, Table, chosen_levers, measure_levers, parse


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(format_config(write_tiny_corpus(tmp_path / "corpus")), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", LEVERS)
def test_every_lever_is_keys_that_a_recipe_takes(name, recipe):
    load_config(recipe, ["model.dropout=0.3", *shlex.split(LEVERS[name])])


def test_a_lever_that_the_recipe_has_pulled_is_left_out(recipe):
    bench = levers.Bench(parse(["--recipe", str(recipe), "--set", "model.norm=pre", "model.dropout=0.3"]))
    pulled = {lever.name for lever in chosen_levers([], []) if bench.pulled(lever)}
    assert {"pre-norm", "dropout 0.3", "no consistency"} <= pulled
    assert {"Adam", "Muon 0.005"} <= pulled, "the recipe has Adam, which looks at no rate of Muon's"
    assert not pulled & {"baseline", "post-norm", "dropout 0.2", "consistency 1", "Muon", "greedy"}


def test_a_budget_inside_the_warm_up_is_refused(recipe):
    with pytest.raises(RegardError, match=r"20 steps end inside the warm-up of 20.*--set train\.warmup_steps=N"):
        levers.Bench(parse(["--recipe", str(recipe), "--set", "train.warmup_steps=20"]))


def measured(lever: str, seed: int, bleu: float) -> Measured:
    return Measured(lever, seed, f"regard train x --run {lever}", 2.0 - seed / 10, bleu, 50.0, "sig", 3.0, 100, 1234)


def test_rows_are_means_over_seeds_with_the_gain_over_the_baseline():
    runs = [measured("baseline", 1, 30.0), measured("baseline", 2, 32.0), measured("wide", 1, 33.0)]
    table = Table("a.toml", [], 7, runs)
    first, second = table.rows()
    assert (first["bleu"], first["gain"], second["gain"]) == (31.0, 0.0, 2.0)
    assert first["loss"] == pytest.approx(1.85)
    assert first["bleu_spread"] == pytest.approx(2**0.5)
    assert second["bleu_spread"] is None
    assert "31.00 ± 1.41" in table.to_text()
    marked = Table("a.toml", [], 7, runs, markdown=True).to_text()
    assert marked.splitlines()[1] == "|" + " --- |" * 8
    assert "| wide | 1.9000 | 33.00 | +2.00 | 50.00 | 3.0 | 1,234 | `regard train x --run wide` |" in marked


def test_levers_are_chosen_by_name_or_are_ones_own():
    assert [lever.name for lever in chosen_levers(["greedy"], [])] == ["baseline", "greedy"]
    assert chosen_levers([], ["mine: model.width=32 seed=2"])[1:] == [Lever("mine", ("model.width=32", "seed=2"))]
    assert len(chosen_levers([], [])) == len(LEVERS)
    for only, own, message in (
        (["gredy"], [], "no lever is called 'gredy'"),
        ([], ["mine"], "name: key=value"),
        ([], ["mine: a=1", "Mine: b=2"], "same name"),
    ):
        with pytest.raises(RegardError, match=message):
            chosen_levers(only, own)


def test_a_recipe_of_several_pairs_is_refused(recipe):
    config = load_config(recipe)
    corpus = f'{{source="{config.data.train[0].source}",target="{config.data.train[0].target}"'
    train = f'data.train=[{corpus}}},{corpus},languages=["en","de"]}}]'
    with pytest.raises(RegardError, match="several pairs"):
        measure_levers(parse(["--recipe", str(recipe), "--set", "data.tags=true", train]))


@pytest.mark.slow
def test_runs_are_done_once_and_no_other_data_is_read(recipe, tmp_path, monkeypatch, capfd):
    given = ["--recipe", str(recipe), "--runs", str(tmp_path / "runs"), "--steps", "6", "--only", "pre-norm", "greedy"]
    given += ["--set", "train.processes=1"]
    started = []
    follow = training_runs.follow
    monkeypatch.setattr(training_runs, "follow", lambda command: started.append(command) or follow(command))
    table = measure_levers(parse(given))
    assert [row["lever"] for row in table.rows()] == ["baseline", "pre-norm", "greedy"]
    assert len(started) == 2, "a lever of the search needs no run"
    assert table.sentences == 10
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"baseline-1", "pre-norm-1"}
    for row in table.rows():
        assert row["command"].startswith(f"regard train {recipe} --run {tmp_path / 'runs'}")
    assert json.loads(json.dumps(table.to_json()))["validation_sentences"] == 10
    monkeypatch.setattr(levers.Translator, "load", lambda folder: pytest.fail("measured again"))
    assert measure_levers(parse(given)).rows() == table.rows()
    assert len(started) == 2
    with pytest.raises(RegardError, match="other settings"):
        measure_levers(parse([*given, "--set", "model.width=32"]))
    with pytest.raises(RegardError, match=r"data\.validation"):
        measure_levers(parse([*given, "--set", "data.validation=[]"]))
