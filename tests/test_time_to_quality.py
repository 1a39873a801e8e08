"""The comparison of optimisers: what it finds in logs, and that a finished run is not done again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_world import write_tiny_corpus

from regard.errors import RegardError
from regard.recipe import format_config

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import training_runs
from time_to_quality import Comparison, Goal, Reached, Run, compare, parse


def run_of(optimiser: str, seed: int, *points: tuple[int, float, float | None]) -> Run:
    """A run with validations of (step, loss, BLEU), two steps a second."""
    lines = [{"step": step, "seconds": step / 2, "loss": loss, "bleu": bleu} for step, loss, bleu in points]
    return Run(optimiser, seed, lines)


@pytest.fixture
def comparison() -> Comparison:
    runs = [
        run_of("adam", 1, (100, 3.0, 10.0), (200, 2.0, 31.0), (300, 1.9, 29.0)),
        run_of("adam", 2, (100, 3.0, 10.0), (200, 2.5, 20.0), (300, 2.0, 30.0)),
        run_of("muon", 1, (100, 2.0, 30.0), (200, 1.5, 35.0)),
        run_of("muon", 2, (100, None, None), (200, 1.8, 31.0)),
    ]
    return Comparison("a.toml", {}, [Goal("bleu", 30), Goal("loss", 1.5)], runs)


def test_a_goal_is_reached_at_the_first_validation_that_meets_it(comparison):
    assert [run.reached(Goal("bleu", 30)) for run in comparison.runs] == [
        Reached(200, 100.0),
        Reached(300, 150.0),
        Reached(100, 50.0),
        Reached(200, 100.0),
    ]
    assert comparison.runs[3].reached(Goal("loss", 1.79)) is None


def test_ratio_is_of_means_over_all_seeds(comparison):
    bleu, loss = comparison.goals
    assert comparison.mean(bleu, "adam", "step") == 250
    assert comparison.ratio(bleu, "seconds") == pytest.approx(125 / 75)
    assert comparison.mean(loss, "muon", "step") is None
    assert comparison.ratio(loss, "step") is None


def test_figures_for_people_and_programs(comparison):
    text = comparison.to_text()
    assert "adam's mean / muon's: 1.67 in steps, 1.67 in seconds" in text
    assert "not reached" in text
    figures = comparison.to_json()
    assert figures["goals"][0]["muon"]["seeds"][2] == Reached(200, 100.0)
    assert figures["best"]["muon"][2] == {"bleu": 31.0, "loss": 1.8}


def test_something_must_be_asked_for(capsys):
    with pytest.raises(SystemExit):
        parse(["--seeds", "1"])
    assert "--bleu" in capsys.readouterr().err


def test_runs_are_trained_once_and_must_be_the_same(tmp_path, monkeypatch):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(format_config(write_tiny_corpus(tmp_path / "corpus")), encoding="utf-8")
    started = []

    def pretend(command):
        """Leave what a run leaves."""
        started.append(command)
        folder = Path(command[command.index("--run") + 1])
        config = training_runs.load_config(recipe, command[command.index("--run") + 2 : command.index("--json")])
        (folder / "config.toml").write_text(format_config(config), encoding="utf-8")
        line = {"step": 5, "kind": "validation", "seconds": 1.0, "loss": 1.0, "bleu": 40.0}
        (folder / "log.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        (folder / "finished.json").write_text("{}", encoding="utf-8")
        return 0

    monkeypatch.setattr(training_runs, "follow", pretend)
    given = ["--recipe", str(recipe), "--runs", str(tmp_path / "runs"), "--seeds", "1", "2", "--bleu", "30"]
    given += ["--steps", "5", "--muon", "train.muon_learning_rate=0.01"]
    found = compare(parse(given))
    assert [run.reached(Goal("bleu", 30)) for run in found.runs] == [Reached(5, 1.0)] * 4
    assert ["train.muon_learning_rate=0.01" in command for command in started] == [False, True, False, True]
    compare(parse(given))
    assert len(started) == 4
    with pytest.raises(RegardError, match="other settings"):
        compare(parse([*given, "--set", "train.learning_rate=0.1"]))


def test_who_ends_a_comparison_ends_its_training():
    script = "import sys, training_runs; sys.exit(training_runs.follow([sys.executable, '-c', sys.argv[1]]))"
    child = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(75)); "
        "print('up', file=sys.stderr, flush=True); time.sleep(60)"
    )
    benchmarks = Path(training_runs.__file__).parent
    process = subprocess.Popen([sys.executable, "-c", script, child], cwd=benchmarks, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "up\n"
    process.terminate()
    assert process.wait(20) == 75
