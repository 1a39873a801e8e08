"""Teachers that are not there yet are trained first, by one recipe, and what is there is left as it is."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from killed_run import train_killed_at
from tiny_world import write_tiny_corpus

from regard import pipeline
from regard.errors import ConfigError, CorpusError, RegardError
from regard.pipeline import train_run
from regard.planning.plan import plan_run
from regard.planning.verdict import Verdict, with_worst_of
from regard.recipe import format_config, load_config, override_config


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with the recipe of teachers in it."""
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    write_recipe(tmp_path, write_tiny_corpus(tmp_path / "corpus"), "train.threads=2")
    return tmp_path


def write_recipe(home, config, *overrides):
    (home / "teacher.toml").write_text(format_config(override_config(config, overrides)), encoding="utf-8")


def student(home, *overrides, names=("one", "two")):
    """A student of two teachers, which are asked once."""
    folders = json.dumps([str(home / name) for name in names])
    taught = [f"train.teachers={folders}", f'train.teacher_recipe="{home / "teacher.toml"}"']
    settings = ["train.teacher_tokens=8", "model.width=32", "train.max_steps=12", "train.threads=1"]
    return override_config(load_config(home / "teacher.toml"), [*taught, *settings, *overrides])


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def test_teachers_are_trained_first_as_they_would_be_by_themselves(home, monkeypatch):
    by_itself = override_config(load_config(home / "teacher.toml"), ["seed=2", "train.threads=1"])
    train_run(by_itself, home / "itself")
    made = []
    train_in = pipeline._train_in
    monkeypatch.setattr(pipeline, "_train_in", lambda *given, **more: made.append(given[1]) or train_in(*given, **more))
    train_run(student(home, "train.precision=fp32"), home / "student")
    assert made == [home / "one", home / "two", home / "student"]
    teachers = [load_config(home / name / "config.toml") for name in ("one", "two")]
    assert [teacher.seed for teacher in teachers] == [1, 2]
    assert all((teacher.train.threads, teacher.train.precision) == (1, "fp32") for teacher in teachers)
    assert weights(home / "two") == weights(home / "itself")
    assert weights(home / "one") != weights(home / "two")
    train_run(student(home, "train.precision=fp32", "train.teacher_recipe=gone.toml"), home / "student")
    assert made == [home / "one", home / "two", home / "student", home / "student"]


def test_a_teacher_that_was_interrupted_goes_on_to_the_same_end(home, monkeypatch):
    train_run(student(home), home / "student")
    ends = [weights(home / name) for name in ("one", "two", "student")]
    other = student(home, names=("first", "second"))
    train_killed_at(14, other, home / "other", monkeypatch)
    assert (home / "first" / "checkpoints").exists()
    assert not (home / "second").exists()
    assert not (home / "other").exists()
    train_run(other, home / "other")
    assert [weights(home / name) for name in ("first", "second", "other")] == ends


def test_a_model_from_elsewhere_is_taken_as_it_is(home, tiny_run):
    (home / "one").mkdir()
    for name in ("model.safetensors", "config.toml", "tokenizer.json"):
        shutil.copy(tiny_run / name, home / "one" / name)
    train_run(student(home, names=("one",)), home / "student")
    assert weights(home / "one") == weights(tiny_run)
    assert not (home / "one" / "checkpoints").exists()


def test_one_that_is_named_twice_is_trained_once(home):
    train_run(student(home, names=("one", "./two/../one", "two")), home / "student")
    assert [load_config(home / name / "config.toml").seed for name in ("one", "two")] == [1, 2]


def test_weights_of_a_run_without_a_checkpoint_are_no_teacher(home):
    train_run(load_config(home / "teacher.toml"), home / "whole")
    (home / "one").mkdir()
    for name in ("model.safetensors", "config.toml", "tokenizer.json", "texts.json"):
        shutil.copy(home / "whole" / name, home / "one" / name)  # as a full disk leaves them at the first validation
    train_run(student(home, names=("one",)), home / "student")
    assert (home / "one" / "finished.json").exists()


def test_without_a_recipe_teachers_must_be_there(home):
    with pytest.raises(ConfigError, match="one: no such model folder"):
        train_run(student(home, "train.teacher_recipe="), home / "student")


def test_teachers_may_have_teachers(home):
    config = load_config(home / "teacher.toml")
    shutil.copy(home / "teacher.toml", home / "first.toml")
    middle = [f'train.teachers=["{home / "first"}"]', f'train.teacher_recipe="{home / "first.toml"}"']
    write_recipe(home, config, *middle)
    train_run(student(home, names=("one",)), home / "student")
    assert all((home / name / "finished.json").exists() for name in ("first", "one", "student"))


@pytest.mark.parametrize(
    ("overrides", "error", "words"),
    [
        (['train.teacher_recipe="nowhere.toml"'], ConfigError, "`train.teacher_recipe`: nowhere.toml: no such recipe"),
        (["tokenizer.vocabulary_size=300"], ConfigError, r"is 300, but `train.teacher_recipe` \(.*toml\) has 320"),
        (["data.target_language=de"], ConfigError, r"teacher.toml\) does not translate en to de"),
        (['data.validation=[{source="no.en",target="no.fr"}]'], CorpusError, "no.en: no such file"),
        (["data.train=[]"], ConfigError, "`data.train` names no corpus"),
        (['model.start="nowhere"'], RegardError, "nowhere"),
    ],
)
def test_what_would_fail_in_the_end_fails_before_teachers_are_trained(home, overrides, error, words):
    with pytest.raises(error, match=words):
        train_run(student(home, *overrides), home / "student")
    assert sorted(path.name for path in home.iterdir()) == ["corpus", "teacher.toml"]


def test_a_folder_that_cannot_be_had_is_said_before_teachers_are_trained(home, tiny_run):
    (home / "two").write_text("")
    with pytest.raises(ConfigError, match=r"two cannot be trained by .*teacher.toml with seed 2; name another folder"):
        train_run(student(home), home / "student")
    (home / "two").unlink()
    other = shutil.copytree(tiny_run, home / "two")
    (other / "config.toml").write_text(
        (other / "config.toml").read_text().replace('source_language = "en"', 'source_language = "nl"')
    )
    with pytest.raises(ConfigError, match=r"two\) does not translate en to fr"):
        train_run(student(home), home / "student")
    assert not (home / "one").exists()


def test_nothing_teaches_itself(home):
    with pytest.raises(ConfigError, match="student would be trained by itself"):
        train_run(student(home, names=("student",)), home / "student")
    recipe = home / "teacher.toml"
    write_recipe(home, student(home, names=("one",)), f'train.teacher_recipe="{recipe}"')
    with pytest.raises(ConfigError, match="one would be trained by itself"):
        train_run(load_config(recipe), home / "student")


def test_a_recipe_without_teachers_is_refused(home):
    with pytest.raises(ConfigError, match=r"`train.teacher_recipe` trains the models of `train.teachers`"):
        override_config(load_config(home / "teacher.toml"), ["train.teacher_recipe=teacher.toml"])


def test_to_resume_is_not_to_begin(home):
    with pytest.raises(RegardError, match="there is no run to resume here"):
        train_run(student(home), home / "student", must_resume=True)
    assert not (home / "one").exists()


@pytest.mark.slow
def test_a_plan_counts_teachers_of_teachers(home):
    shutil.copy(home / "teacher.toml", home / "first.toml")
    taught = [f'train.teachers=["{home / "first"}"]', f'train.teacher_recipe="{home / "first.toml"}"']
    write_recipe(home, load_config(home / "first.toml"), *taught)
    first, one = (plan_run(load_config(home / f"{name}.toml"), home / name, 1) for name in ("first", "teacher"))
    assert one.expected.time.teachers > first.expected.time.teachers == 0
    of_one, of_two = (plan_run(student(home, names=names), home / "student", 1) for names in (("one",), ("one", "two")))
    second = of_two.expected.disk - of_one.expected.disk
    assert second == pytest.approx(one.expected.disk - first.expected.disk, rel=0.2), "their teacher is one"
    assert of_two.expected.time.teachers > of_one.expected.time.teachers > 0


@pytest.mark.slow
def test_a_plan_counts_teachers_that_are_not_there(home):
    plan = plan_run(student(home), home / "student", 1)
    assert "training teachers that are not there yet" in plan.to_text()
    assert plan.facts.vocabulary_from == f"of {home / 'one'}"
    assert plan.to_json()["expected"]["time"]["total"] > plan.expected.time.teachers > 0
    assert not (home / "one").exists()
    train_run(student(home), home / "student")
    after = plan_run(student(home), home / "student", 1)
    assert after.expected.time.teachers == 0
    assert after.expected.disk < plan.expected.disk


@pytest.mark.slow
def test_a_plan_has_the_vocabulary_of_a_teacher_that_is_there(home, monkeypatch):
    train_run(_first(home), home / "one")
    monkeypatch.setattr("regard.planning.teachers.look_at_text", None)
    assert plan_run(student(home), home / "student", 1).expected.time.teachers > 0


def _first(home):
    return override_config(load_config(home / "teacher.toml"), ["train.threads=1"])


@pytest.mark.slow
def test_a_plan_that_fails_by_its_teachers_says_so(home):
    write_recipe(home, load_config(home / "teacher.toml"), "train.max_steps=2000000000")
    plan = plan_run(student(home, "train.max_steps=12"), home / "student", 1)
    assert plan.exit_code == 4
    assert "`train.teacher_recipe`: It would take" in " ".join(plan.to_text().split())


def test_what_stands_in_the_way_of_a_teacher_stands_in_the_way_of_its_student():
    fits, change = Verdict("fits", notes=("busy",)), Verdict("change", ("too large",), ("train.batch_tokens=8",))
    assert with_worst_of(fits, []) == with_worst_of(fits, [fits]) == fits
    own = Verdict("change", ("no disk",), ("train.keep_last=1",))
    worse = with_worst_of(own, [fits, change])
    assert worse.level == "change"
    assert worse.reasons == (
        "`train.teacher_recipe`: too large", "`train.teacher_recipe`: This fits: train.batch_tokens=8", "no disk",
    )  # fmt: skip
    assert worse.proposal == own.proposal
    assert with_worst_of(Verdict("hopeless"), [change]).level == "hopeless"


@pytest.mark.slow
@pytest.mark.parametrize("alone", ["0", "1"])
def test_processes_of_torchrun_train_teachers_together(home, alone):
    """With a store of torchrun's, or of the first process."""
    (home / "student.toml").write_text(format_config(student(home)), encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
    command = [*torchrun, "regard", "train", home / "student.toml", "--run", home / "student"]
    subprocess.run(command, check=True, timeout=240, env={**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": alone})
    assert all(json.loads((home / name / "finished.json").read_text())["processes"] == 2 for name in ("one", "student"))
