"""A recipe may name models that make a side of its text, which is made before the run begins and learned like any."""

import json
import shutil
from pathlib import Path

import pytest
from killed_run import train_killed_at
from tiny_world import write_tiny_corpus

from regard import card, pipeline
from regard.commands.examining import CorpusFiles, examine_recipe
from regard.config import Config
from regard.distillation.run import distill_run
from regard.errors import ConfigError, CorpusError, RegardError
from regard.missing_teachers import missing_teachers
from regard.pipeline import train_run
from regard.planning.plan import plan_run
from regard.recipe import format_config, load_config, override_config
from regard.search.translator import EMPTY, Translator

SHORT = ("train.max_steps=4", "train.validate_every=4", "train.processes=1")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a recipe of two files in it."""
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), SHORT)
    (tmp_path / "plain.toml").write_text(format_config(config), encoding="utf-8")
    return tmp_path


def with_makers(home: Path, *makers: str, overrides: tuple[str, ...] = ()) -> Config:
    """The recipe with its text once more for each of `makers`: `target_by=["x"]`."""
    files = f'source="{home / "corpus/train.en"}",target="{home / "corpus/train.fr"}"'
    corpora = ", ".join([f"{{{files}}}", *(f"{{{files},{maker}}}" for maker in makers)])
    return override_config(load_config(home / "plain.toml"), [f"data.train=[{corpora}]", *overrides])


def made_pairs(run: Path, number: int) -> list[tuple[str, str]]:
    lines = (run / "translated" / str(number) / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [(line["source"], line["target"]) for line in map(json.loads, lines)]


def sides(home: Path) -> tuple[list[str], list[str]]:
    sources, targets = ((home / f"corpus/train.{side}").read_text(encoding="utf-8") for side in ("en", "fr"))
    return sources.splitlines(), targets.splitlines()


@pytest.fixture
def says_the_language(monkeypatch):
    """Every model puts the language it translates into before a sentence."""

    def said(self, texts, *arguments, **options):
        return [[type(EMPTY)(f"{self.languages[1]} {text}", 0.0, 0.0, [], [], True, [])] for text in texts]

    monkeypatch.setattr(Translator, "translate_nbest", said)


@pytest.fixture
def turned_run(tiny_run, tmp_path) -> Path:
    turned = shutil.copytree(tiny_run, tmp_path / "turned")
    text = (turned / "config.toml").read_text(encoding="utf-8")
    text = text.replace('source_language = "en"', 'source_language = "xx"').replace(
        'target_language = "fr"', 'target_language = "en"'
    )
    (turned / "config.toml").write_text(text.replace('"xx"', '"fr"'), encoding="utf-8")
    return turned


def test_either_side_can_be_made(home, tiny_run, turned_run, says_the_language):
    config = with_makers(home, f'target_by=["{tiny_run}"],weight=2.0', f'source_by=["{turned_run}", "{turned_run}"]')
    result = train_run(config, home / "run")
    sources, targets = sides(home)
    assert made_pairs(home / "run", 1) == [(source, f"fr {source}") for source in sources]
    assert made_pairs(home / "run", 2) == [(f"en {target}", target) for target in targets]
    assert result.pairs == 3 * len(sources)
    assert load_config(home / "run/config.toml") == config, "the run keeps the recipe, not what became of it"


def test_it_learns_what_it_would_learn_from_files(home, tiny_run):
    train_run(with_makers(home, f'target_by=["{tiny_run}"]'), home / "run")
    files = f'{{source="{home / "corpus/train.en"}",target="{home / "corpus/train.fr"}"}}'
    written = f'{{pairs="{home / "run/translated/1/pairs.jsonl"}"}}'
    by_hand = override_config(load_config(home / "plain.toml"), [f"data.train=[{files}, {written}]"])
    train_run(by_hand, home / "hand")
    weights = [(home / name / "model.safetensors").read_bytes() for name in ("run", "hand")]
    assert weights[0] == weights[1]


def test_it_is_what_distill_makes(home, tiny_run, turned_run):
    config = with_makers(home, f'target_by=["{tiny_run}"]', f'source_by=["{turned_run}"]')
    train_run(config, home / "run")
    plain = load_config(home / "plain.toml")
    distill_run([tiny_run], plain, home / "student", back=[turned_run])
    for number, folder in ((1, "0"), (2, "back-0")):
        made = (home / "run/translated" / str(number) / "pairs.jsonl").read_bytes()
        assert made == (home / "student/distilled" / folder / "pairs.jsonl").read_bytes()


def test_an_interrupted_run_goes_on_without_the_models_to_the_same_end(home, tiny_run, monkeypatch):
    model = shutil.copytree(tiny_run, home / "model")
    config = with_makers(home, f'target_by=["{model}"]')
    train_run(config, home / "whole")
    train_killed_at(2, config, home / "other", monkeypatch)
    shutil.rmtree(model)
    train_run(config, home / "other")
    weights = [(home / name / "model.safetensors").read_bytes() for name in ("whole", "other")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("again", [False, True], ids=["changed", "made anew"])
def test_a_run_notices_other_text(home, tiny_run, monkeypatch, again):
    model = shutil.copytree(tiny_run, home / "model")
    config = with_makers(home, f'target_by=["{model}"]')
    train_killed_at(2, config, home / "run", monkeypatch)
    train_killed_at(2, config, home / "run", monkeypatch)
    pairs = home / "run/translated/1/pairs.jsonl"
    lines = pairs.read_text(encoding="utf-8").splitlines(keepends=True)
    if again:
        shutil.rmtree(pairs.parent)
        found = type(EMPTY)("autre", 0.0, 0.0, [], [], True, [])
        monkeypatch.setattr(Translator, "translate_nbest", lambda self, texts, *_, **__: [[found] for _ in texts])
    else:
        pairs.write_text("".join([*lines[1:], lines[0]]), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"pairs\.jsonl: holds other text than when the run"):
        train_run(config, home / "run")


def test_one_model_may_make_either_side(home, says_the_language):
    both = home / "both"
    en, fr = home / "corpus/train.en", home / "corpus/train.fr"
    corpora = (
        f'{{source="{en}",target="{fr}",languages=["en","fr"]}}',
        f'{{source="{fr}",target="{en}",languages=["fr","en"]}}',
    )
    tagged = [f"data.train=[{', '.join(corpora)}]", "data.tags=true", "train.max_steps=1"]
    train_run(override_config(load_config(home / "plain.toml"), tagged), both)
    train_run(with_makers(home, f'target_by=["{both}"]', f'source_by=["{both}"]'), home / "run")
    sources, targets = sides(home)
    assert made_pairs(home / "run", 1) == [(source, f"fr {source}") for source in sources]
    assert made_pairs(home / "run", 2) == [(f"en {target}", target) for target in targets]


def test_models_that_are_not_there_are_trained_first(home):
    recipe = f'train.teacher_recipe="{home / "plain.toml"}"'
    makers = (f'target_by=["{home / "one"}", "{home / "two"}"]', f'source_by=["{home / "back"}"]')
    taught = f'train.teachers=["{home / "one"}"]'
    train_run(with_makers(home, *makers, overrides=(recipe, taught)), home / "run")
    found = {name: load_config(home / name / "config.toml") for name in ("one", "two", "back")}
    assert {name: config.seed for name, config in found.items()} == {"one": 1, "two": 2, "back": 1}
    assert found["two"].data == load_config(home / "plain.toml").data
    back = found["back"].data
    assert (back.source_language, back.target_language) == ("fr", "en")
    assert [(corpus.source, corpus.target) for corpus in (*back.train, *back.validation)] == [
        (str(home / f"corpus/{name}.fr"), str(home / f"corpus/{name}.en")) for name in ("train", "validation")
    ]
    assert len(made_pairs(home / "run", 2)) == len(sides(home)[0])


def test_a_model_that_teaches_and_makes_text_is_one(home):
    recipe = f'train.teacher_recipe="{home / "plain.toml"}"'
    taught = f'train.teachers=["{home / "one"}", "{home / "two"}"]'
    config = with_makers(home, f'target_by=["{home / "one"}", "{home / "three"}"]', overrides=(recipe, taught))
    found = [(folder.name, teacher.seed) for teacher, folder in missing_teachers(config, home / "run")]
    assert found == [("one", 1), ("two", 2), ("three", 3)]


def test_a_recipe_is_turned_as_a_whole(home):
    settings = ["tokenizer.dropout_side=source", "tokenizer.dropout=0.1", "model.target_vectors=v.vec"]
    turned = override_config(load_config(home / "plain.toml"), settings).turned()
    assert (turned.tokenizer.dropout_side, turned.model.source_vectors, turned.model.target_vectors) == (
        "target", "v.vec", None,
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"`model.start`\), so it cannot be turned"):
        override_config(load_config(home / "plain.toml"), ["model.start=x"]).turned()


def test_what_is_there_needs_no_recipe_that_can_be_turned(home, turned_run):
    both = home / "corpus/both.tsv"
    both.write_text("".join(f"{source}\t{target}\n" for source, target in zip(*sides(home), strict=True)))
    pairs = override_config(load_config(home / "plain.toml"), [f'data.train=[{{pairs="{both}"}}]'])
    (home / "pairs.toml").write_text(format_config(pairs), encoding="utf-8")
    recipe = f'train.teacher_recipe="{home / "pairs.toml"}"'
    makers = (f'source_by=["{turned_run}"]', f'target_by=["{home / "new"}"]')
    config = with_makers(home, *makers, overrides=(recipe,))
    assert [folder.name for _, folder in missing_teachers(config, home / "run")] == ["new"]


@pytest.mark.parametrize(
    ("makers", "overrides", "words"),
    [
        ('target_by=["{run}"],source_by=["{run}"]', (), "`target_by` and `source_by` do not go together"),
        ('target_by=["nowhere"]', (), r"`data.train\[1\].target_by`: nowhere: no such model folder"),
        ('source_by=["{run}"]', (), r"`data.train\[1\].source_by` \(.*run\) does not translate fr to en"),
        ('target_by=["{run}"]', ("data.target_language=de",), r"target_by` \(.*run\) does not translate en to de"),
        ('target_by="{run}"', (), "target_by` is '"),
        (
            'source_by=["nowhere"]',
            ("train.teacher_recipe={home}/pairs.toml",),
            r"`train.teacher_recipe`: .*both.tsv holds both sides in one file",
        ),
        (
            'target_by=["nowhere"]',
            ("train.teacher_recipe={home}/plain.toml", "data.target_language=de"),
            r"plain.toml\) does not translate en to de",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_said_before_anything_is_made(home, tiny_run, makers, overrides, words):
    pairs = override_config(load_config(home / "plain.toml"), [f'data.train=[{{pairs="{home / "both.tsv"}"}}]'])
    (home / "pairs.toml").write_text(format_config(pairs), encoding="utf-8")
    overridden = tuple(override.replace("{home}", str(home)) for override in overrides)

    def begin():
        train_run(with_makers(home, makers.replace("{run}", str(tiny_run)), overrides=overridden), home / "run")

    with pytest.raises(ConfigError, match=words):
        begin()
    assert not (home / "run").exists()


def test_models_judge_no_models(home):
    held_out = f'source="{home / "corpus/validation.en"}",target="{home / "corpus/validation.fr"}"'
    with pytest.raises(ConfigError, match="what a model wrote can judge no other"):
        override_config(load_config(home / "plain.toml"), [f'data.validation=[{{{held_out},target_by=["x"]}}]'])


def test_distill_leaves_such_recipes_to_train(home, tiny_run):
    with pytest.raises(ConfigError, match="`regard train` has them make it"):
        distill_run([tiny_run], with_makers(home, f'target_by=["{tiny_run}"]'), home / "run")


def test_the_card_says_who_wrote_it(home, tiny_run):
    config = with_makers(home, f'target_by=["{tiny_run}"]', 'source_by=["back"]')
    written = [card._corpus(corpus) for corpus in config.data.train]
    assert written[1].endswith(f"its targets as made by `{tiny_run}`")
    assert written[2].endswith("its sources as made by `back`")


def test_the_doctor_looks_at_what_people_wrote(home, tiny_run):
    plain = examine_recipe(home / "plain.toml", CorpusFiles(), (), 3).to_json()
    made = with_makers(home, f'target_by=["{tiny_run}"]', 'source_by=["x"]')
    alone = made.model_copy(update={"data": made.data.model_copy(update={"train": made.data.train[1:2]})})
    for config in (made, alone):
        (home / "made.toml").write_text(format_config(config), encoding="utf-8")
        assert examine_recipe(home / "made.toml", CorpusFiles(), (), 3).to_json() == plain


def test_a_full_folder_of_another_recipe_is_refused(home, tiny_run, turned_run, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(pipeline, "learn_tokenizers", fails)
    with pytest.raises(RuntimeError):
        train_run(with_makers(home, f'target_by=["{tiny_run}"]'), home / "run")
    with pytest.raises(RegardError, match=r"holds translations made with another `teachers`.*remove this one"):
        train_run(with_makers(home, f'target_by=["{tiny_run}", "{tiny_run}"]'), home / "run")


@pytest.mark.slow
def test_a_plan_counts_what_models_make(home):
    recipe = f'train.teacher_recipe="{home / "plain.toml"}"'
    config = with_makers(home, f'source_by=["{home / "back"}"]', overrides=(recipe,))
    plan = plan_run(config, home / "run", 1)
    assert plan.expected.time.teachers > 0
    assert plan.expected.time.total > plan.expected.time.making > 0
    assert "having models make text" in plan.to_text()
    assert not (home / "back").exists()


def test_a_plan_refuses_models_that_are_not_there(home):
    with pytest.raises(ConfigError, match=r"`data.train\[1\].target_by`: nowhere: no such model folder"):
        plan_run(with_makers(home, 'target_by=["nowhere"]'), home / "run", 1)
