import json
import shutil
import tomllib
from pathlib import Path

import pytest

import regard
from regard.data.builtin import BuiltinPair, PronounCase, corpus, generate, write_builtin
from regard.data.builtin.writing import is_written
from regard.demo import run_demo
from regard.demo.measure import SetScore, Shown, Trial, measure
from regard.demo.result import DemoResult
from regard.demo.run import demo_config
from regard.errors import ConfigError
from regard.explain.reference import Head, Share, Step, Trail
from regard.pipeline import TrainResult
from regard.train.loop import Outcome

TINY = (
    "train.max_steps=3",
    "train.validation_sentences=0",
    "train.threads=1",
    "tokenizer.vocabulary_size=600",
    "model.width=16",
    "model.feed_forward=16",
    "search.beam=1",
    "search.max_length_factor=1.0",
    "search.max_length_extra=1",
)
CLAUSE = r"parce qu'(il|elle)\b"


@pytest.fixture
def small_corpus(monkeypatch):
    for part, size in (("TRAIN", 300), ("VALIDATION", 20), ("TEST", 20), ("NOVEL", 20)):
        monkeypatch.setattr(corpus, f"{part}_PAIRS", size)


class Parrot:
    """Translates by a table."""

    languages = ("en", "fr")

    def __init__(self, table):
        self.table = table

    def translate(self, texts, progress=None):
        return [self.table[text] for text in texts]


def test_the_whole_way_from_the_corpus_to_the_page(small_corpus, tmp_path):
    result = run_demo(tmp_path / "run", overrides=TINY, sentences=10)
    figures = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert {"bleu", "exact_match", "pronoun_accuracy", "seconds", "page", "signature"} <= figures.keys()
    assert figures["steps"] == 3
    assert figures["test"]["sentences"] == figures["novel"]["sentences"] == 10
    assert figures["page"] == str(tmp_path / "run" / "attention.html")
    page = Path(figures["page"]).read_text(encoding="utf-8")
    assert page.count("street") > 4
    assert figures["trail"]["tried"] == 3 * 4 * 4  # heads of three encoder layers, with those of one decoder layer
    assert figures["trail"]["trial"]["tried"] > 0
    assert len(figures["translations"]) == 14
    text = result.to_text()
    assert "The animal didn't cross the street because it was too tired." in text
    assert str(result.page) in text


def test_a_folder_with_another_run_is_left_as_it_was(small_corpus, tiny_run, tmp_path):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    before = sorted(path.name for path in run.iterdir())
    with pytest.raises(ConfigError, match="holds another run"):
        run_demo(run, overrides=TINY)
    assert sorted(path.name for path in run.iterdir()) == before


def test_the_text_of_another_seed_is_written_anew(small_corpus, tmp_path):
    write_builtin(tmp_path, "fr", seed=1)
    assert is_written(tmp_path, "fr", seed=1)
    assert not is_written(tmp_path, "fr", seed=2)
    assert not is_written(tmp_path, "zh", seed=1)
    assert not is_written(tmp_path / "nowhere", "fr", seed=1)


def test_the_recipe_reads_the_corpus_of_the_run(tmp_path):
    config = demo_config(tmp_path, "zh", 7, ["train.max_steps=9"])
    assert config.seed == 7
    assert config.data.target_language == "zh"
    assert config.data.train[0].target == str(tmp_path / "train.zh")
    assert config.data.validation[0].source == str(tmp_path / "validation.en")
    assert config.train.max_steps == 9


def test_a_wrong_key_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"train\.max_stepz"):
        demo_config(tmp_path, "fr", 1, ["train.max_stepz=9"])


def test_every_file_of_the_package_is_installed_with_it():
    root = Path(regard.__file__).parent
    declared = tomllib.loads((root.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = declared["tool"]["setuptools"]["package-data"]["regard"]
    packaged = {path for pattern in patterns for path in root.glob(pattern)}
    files = {path for path in root.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert files - packaged == set()


def test_measuring_counts_bleu_exact_sentences_and_pronouns():
    il, elle = (PronounCase("it", "noun", CLAUSE, right) for right in ("il", "elle"))
    pairs = [
        BuiltinPair("a", "Le chat dort parce qu'il est las.", il),
        BuiltinPair("b", "La rue est vide parce qu'elle est large.", elle),
        BuiltinPair("c", "Le chien noir dort ici.", None),
    ]
    table = {
        "a": "Le chat dort parce qu'il est fatigué.",
        "b": "La rue est vide parce qu'il est large.",
        "c": "Le chien noir dort ici.",
    }
    score = measure(Parrot(table), "test", pairs)
    assert score.exact_match == pytest.approx(100 / 3)
    assert (score.pronoun_accuracy, score.pronoun_sentences) == (50.0, 2)
    assert 50 < score.bleu < 100
    assert "tok:13a" in score.signature


def test_a_perfect_translator_has_perfect_scores(small_corpus):
    pairs = generate("fr", 1).test
    score = measure(Parrot({pair.source: pair.target for pair in pairs}), "test", pairs)
    assert (round(score.bleu, 6), score.exact_match, score.pronoun_accuracy) == (100.0, 100.0, 100.0)


def test_the_summary_fits_80_columns_and_says_what_was_seen():
    score = SetScore(1000, 98.76, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0", 91.2, 99.5, 631)
    source = "The panther didn't catch the rabbit because it was too fast."
    shown = (Shown(source, "La panthère.", "La panthère.", True), Shown("[b]x[/b]", "non", "oui", False))
    outcome = Outcome(1500, 4, 2_000_000, 121.0, None, "the best validation, at step 1,500")
    result = DemoResult(
        training=TrainResult(Path("runs/demo"), outcome, 1_314_944, 36_000, None),
        test=score,
        novel=score,
        shown=shown,
        trail=Trail(Head(0, 1), Head(1, 2), (Step("tired", 0.9, 0.9, Share(0.8, 0.1), Share(0.2, 0.1)),), 144),
        trial=Trial(180, 200),
        finding=("In layer 2, head 3, “it” gives 80 % of its attention to “animal”.",),
        seconds=140.0,
        page=Path("runs/demo/attention.html"),
    )
    text = result.to_text()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "98.8" in text
    assert "99.5 % of 631" in text
    assert "✓ La panthère." in text
    assert "✗ non" in text
    assert "[b]x[/b]" in text
    assert "right noun in 90 %" in " ".join(text.split())
    assert "not proof of cause" in text
