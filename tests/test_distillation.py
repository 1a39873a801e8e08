"""A student learns its teacher's translations: what is written, what an interruption costs, what is refused."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_world import write_tiny_corpus

import regard as library
from regard import pipeline
from regard.config import Config, DataConfig
from regard.data.checks import PairCheck
from regard.data.corpus import Pair
from regard.distillation.run import distill_run, student_config
from regard.errors import ConfigError, InputError, RegardError
from regard.recipe import format_config, load_config, override_config
from regard.search.translator import EMPTY, Translator
from regard.translated import corpus as translated_corpus
from regard.translated.corpus import _chosen
from regard.translated.makers import Makers

SHORT = ("train.max_steps=3", "train.validate_every=3", "train.processes=1")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(translated_corpus, "BLOCK_PAIRS", 60)
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)


@pytest.fixture
def config(tmp_path) -> Config:
    return override_config(write_tiny_corpus(tmp_path / "corpus"), SHORT)


def lines_of(run: Path, corpus: str = "0") -> list[dict[str, str]]:
    path = run / "distilled" / corpus / "pairs.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def turned_run(tiny_run, tmp_path) -> Path:
    """The weights of a model from English to French, said to be for French to English."""
    turned = shutil.copytree(tiny_run, tmp_path / "turned")
    own = (turned / "config.toml").read_text(encoding="utf-8")
    own = own.replace('source_language = "en"', 'source_language = "fr"')
    (turned / "config.toml").write_text(
        own.replace('target_language = "fr"', 'target_language = "en"'), encoding="utf-8"
    )
    return turned


def test_the_command_translates_trains_and_measures(regard, tiny_run, config, tmp_path):
    recipe, run = tmp_path / "student.toml", tmp_path / "student"
    recipe.write_text(format_config(config), encoding="utf-8")
    given = ["distill", tiny_run, "--recipe", recipe, "--run", run, "--beam", "2", "--json", tmp_path / "out.json"]
    finished = regard(*given, "model.encoder_layers=2")
    assert finished.code == 0, finished.errors
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    sources = Path(config.data.train[0].source).read_text(encoding="utf-8").splitlines()
    references = Path(config.data.train[0].target).read_text(encoding="utf-8").splitlines()
    lines = lines_of(run)
    assert [line["source"] for line in lines] == sources
    found = Translator.load(tiny_run).translate_nbest(sources, 1, beam=2)
    expected = [
        one.text if one.finished and one.text.strip() else reference
        for (one,), reference in zip(found, references, strict=True)
    ]
    assert [line["target"] for line in lines] == expected
    assert figures["translated"]["pairs"] == 200 == figures["training"]["pairs"]
    assert figures["teacher"]["sentences"] == figures["student"]["sentences"] == 10
    student = load_config(run / "config.toml")
    assert student.model.encoder_layers == 2
    assert [corpus.pairs for corpus in student.data.train] == [str(run / "distilled/0/pairs.jsonl")]
    assert student.data.validation == config.data.validation
    assert not (run / "distilled/0/blocks").exists()
    assert "teacher: validation BLEU" in finished.output
    assert "student: validation BLEU" in finished.output


def test_an_interruption_costs_a_block_at_the_most(tiny_run, config, tmp_path, monkeypatch):
    whole = distill_run([tiny_run], config, tmp_path / "whole", beam=1)
    original, calls = Translator.translate_nbest, []

    def counted(self, texts, *arguments, **options):
        calls.append(len(texts))
        if calls == [0, 60, 60]:
            raise KeyboardInterrupt
        return original(self, texts, *arguments, **options)

    monkeypatch.setattr(Translator, "translate_nbest", counted)
    with pytest.raises(KeyboardInterrupt):
        distill_run([tiny_run], config, tmp_path / "broken", beam=1)
    calls[:] = [-1]
    again = distill_run([tiny_run], config, tmp_path / "broken", beam=1)
    assert calls[1:5] == [0, 60, 60, 20]
    assert lines_of(tmp_path / "broken") == lines_of(tmp_path / "whole")
    assert again.taught[0].pairs == whole.taught[0].pairs == 200
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "broken")]
    assert weights[0] == weights[1]


def test_of_several_the_closest_can_be_taken():
    def said(text: str, finished: bool = True):
        return type(EMPTY)(text, 0.0, 0.0, [], [], finished, [])

    pair = Pair("a cat", "un chat noir", 1, "")
    found = [said("une chatte"), said("un chat noir", finished=False), said("un chat noire"), said("  ")]
    check = PairCheck("", "", DataConfig(max_ratio=1.1))
    assert _chosen(found, pair, check) == "un chat noire"
    assert _chosen(found[:1], pair, check) == "une chatte"
    assert _chosen([found[1]], pair, check) is None
    assert _chosen([found[3]], pair, check) is None
    assert _chosen([said("un chat " * 4)], pair, check) is None, "it would be a bad pair"


def test_closest_and_an_ensemble_from_python(tiny_run, config, tmp_path):
    distilled = library.distill(
        [tiny_run, tiny_run], config, tmp_path / "run", ["train.max_steps=2"], choice="closest", original=0.5, beam=2
    )
    assert distilled.taught[0].pairs == 200
    assert distilled.training.outcome.steps == 2
    weights = [corpus.weight for corpus in load_config(tmp_path / "run/config.toml").data.train]
    assert weights == [1.0, 0.5]
    assert json.loads((tmp_path / "run/distilled/0/settings.json").read_text())["choice"] == "closest"


def test_what_the_teacher_says_of_each_token_can_be_learned_too(regard, tiny_run, config, tmp_path):
    recipe, run = tmp_path / "student.toml", tmp_path / "student"
    recipe.write_text(format_config(config), encoding="utf-8")
    given = ["distill", tiny_run, "--recipe", recipe, "--run", run, "--beam", "1", "--words", "0.7"]
    finished = regard(*given, "tokenizer.vocabulary_size=400")
    assert finished.code == 2
    assert "a student has its teachers' tokens" in finished.errors
    finished = regard(*given, "train.consistency=1.0", "model.dropout=0.1")
    assert finished.code == 2
    assert "`train.consistency`, and learning from teachers word by word does without" in finished.errors
    assert not run.exists()
    finished = regard(*given)
    assert finished.code == 0, finished.errors
    student = load_config(run / "config.toml")
    assert student.train.teachers == (str(tiny_run),)
    assert student.train.distillation == 0.7
    assert (run / "tokenizer.json").read_bytes() == (tiny_run / "tokenizer.json").read_bytes()


def test_what_leads_back_is_learned_as_sources(regard, tiny_run, turned_run, config, tmp_path, monkeypatch):
    def said(self, texts, *arguments, **options):
        to = self.config.data.target_language
        return [[type(EMPTY)(f"{to}: {text}", 0.0, 0.0, [], [], True, [])] for text in texts]

    monkeypatch.setattr(Translator, "translate_nbest", said)
    recipe, run = tmp_path / "student.toml", tmp_path / "student"
    recipe.write_text(format_config(config), encoding="utf-8")
    finished = regard(
        *("distill", tiny_run, "--recipe", recipe, "--run", run, "--back", turned_run, "--original", "2", "--beam", "1")
    )
    assert finished.code == 0, finished.errors
    assert "400 pairs translated" in finished.output
    sources = Path(config.data.train[0].source).read_text(encoding="utf-8").splitlines()
    references = Path(config.data.train[0].target).read_text(encoding="utf-8").splitlines()
    there = [(line["source"], line["target"]) for line in lines_of(run)]
    back = [(line["source"], line["target"]) for line in lines_of(run, "back-0")]
    assert there == [(source, f"fr: {source}") for source in sources]
    assert back == [(f"en: {reference}", reference) for reference in references]
    student = load_config(run / "config.toml").data.train
    assert [(corpus.pairs or corpus.source, corpus.weight) for corpus in student] == [
        (str(run / "distilled/0/pairs.jsonl"), 1.0),
        (str(run / "distilled/back-0/pairs.jsonl"), 1.0),
        (config.data.train[0].source, 2.0),
    ]


def test_a_source_stands_in_for_what_leads_back_to_nothing(tiny_run, turned_run, config, tmp_path, monkeypatch):
    original = Translator.translate_nbest

    def silent(self, texts, *arguments, **options):
        found = original(self, texts, *arguments, **options)
        return [[EMPTY] for _ in texts] if self.config.data.target_language == "en" else found

    monkeypatch.setattr(Translator, "translate_nbest", silent)
    distill_run([tiny_run], config, tmp_path / "student", back=[turned_run, turned_run], beam=1)
    settings = json.loads((tmp_path / "student/distilled/back-0/settings.json").read_text(encoding="utf-8"))
    assert len(settings["teachers"]) == 2
    sources = Path(config.data.train[0].source).read_text(encoding="utf-8").splitlines()
    lines = lines_of(tmp_path / "student", "back-0")
    assert [line["source"] for line in lines] == sources
    assert {line["teacher"] for line in lines} == {"replaced"}


def test_what_leads_back_goes_the_other_way(tiny_run, config, tmp_path):
    with pytest.raises(InputError, match="run: translates en to fr, not from fr"):
        distill_run([tiny_run], config, tmp_path / "student", back=[tiny_run])
    assert not (tmp_path / "student").exists()


def test_what_leads_back_does_so_for_every_pair_of_languages():
    class Everywhere:
        def between(self, source: str, target: str) -> tuple[str, str]:
            return source, target

    there = Makers(("x",), Everywhere(), ("",), "probabilities", back=False)
    back = Makers(("x",), Everywhere(), ("",), "probabilities", back=True)
    assert there.between(("en", "de")) == ("en", "de")
    assert back.between(("en", "de")) == ("de", "en")


def test_weights_of_the_recipe_stay(config, tmp_path):
    heavy = config.data.train[0].model_copy(update={"weight": 2.0, "epochs": 3})
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (heavy, config.data.train[0])})})
    assert [corpus.weight for corpus in student_config(config, tmp_path, 0.25).data.train] == [2.0, 1.0, 0.5, 0.25]
    taught = student_config(config, tmp_path, 0.0).data.train
    assert [(corpus.weight, corpus.epochs) for corpus in taught] == [(2.0, 3), (1.0, None)]


def test_a_folder_has_one_name_however_it_is_spelt(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert student_config(config, Path("run"), 0.0) == student_config(config, tmp_path / "run", 0.0)


def test_mistakes_are_said_before_the_work(tiny_run, config, tmp_path, monkeypatch):
    run = tmp_path / "run"
    other = override_config(config, ["data.target_language=de"])
    with pytest.raises(InputError, match="run: translates en to fr, not to de"):
        distill_run([tiny_run], other, run)
    with pytest.raises(ConfigError, match=r"data\.train"):
        distill_run([tiny_run], override_config(config, ["data.train=[]"]), run)
    with pytest.raises(InputError, match="beam to 2"):
        distill_run([tiny_run], config, run, choice="closest", beam=1)
    greedy = shutil.copytree(tiny_run, tmp_path / "greedy")
    own = (greedy / "config.toml").read_text(encoding="utf-8").replace("beam = 2", "beam = 1")
    (greedy / "config.toml").write_text(own, encoding="utf-8")
    with pytest.raises(InputError, match="beam to 2"):
        distill_run([greedy], config, run, choice="closest")
    with pytest.raises(InputError, match="weight of the original"):
        distill_run([tiny_run], config, run, original=-1.0)
    with pytest.raises(InputError, match="no teacher"):
        distill_run([], config, run)
    with pytest.raises(InputError, match="unknown tokenization"):
        distill_run([tiny_run], config, run, tokenize="nonsense")
    with pytest.raises(RegardError, match=r"none\.en"):
        distill_run([tiny_run], override_config(config, ['data.validation=[{source="none.en",target="none.fr"}]']), run)
    with pytest.raises(ConfigError, match="holds another run"):
        distill_run([greedy], config, greedy)
    assert not (greedy / "distilled").exists()
    with monkeypatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        with pytest.raises(RegardError, match="torchrun"):
            distill_run([tiny_run], config, run)
    assert not run.exists()
    missing = override_config(config, ['data.train=[{source="none.en",target="none.fr"}]'])
    with pytest.raises(RegardError, match=r"none\.en"):
        distill_run([tiny_run], missing, run)


def test_a_student_learns_from_a_teacher_that_makes_bad_pairs(tiny_run, config, tmp_path, monkeypatch):
    """Even where a bad line is an error: it is the teacher's, and nobody could mend it."""
    original = Translator.translate_nbest

    def endless(self, texts, *arguments, **options):
        found = original(self, texts, *arguments, **options)
        return [[type(EMPTY)("x" * 60, 0.0, 0.0, [], [], True, [])] for _ in found]

    monkeypatch.setattr(Translator, "translate_nbest", endless)
    strict = override_config(config, ["data.on_bad_line=error", "data.max_ratio=1.5"])
    distilled = distill_run([tiny_run], strict, tmp_path / "run", beam=1)
    assert distilled.taught[0].replaced > 0
    for line in lines_of(tmp_path / "run"):
        assert (line["teacher"] == "replaced") == (1.5 * len(line["source"]) + 20 < 60)


@pytest.mark.parametrize("damage", ["cut", "other", "short"])
def test_damaged_translations_are_said_to_be(tiny_run, config, tmp_path, damage):
    distill_run([tiny_run], config, tmp_path / "run", beam=1)
    path = tmp_path / "run/distilled/0/pairs.jsonl"
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-7], "other": b"[]\n", "short": whole[: whole.index(b"\n") + 1]}[damage])
    with pytest.raises(RegardError, match=r"pairs\.jsonl: .*remove it, and it will be made anew"):
        distill_run([tiny_run], config, tmp_path / "run", beam=1)
    path.unlink()
    distill_run([tiny_run], config, tmp_path / "run", beam=1)
    assert path.read_bytes() == whole


def test_translations_of_another_teacher_are_not_mixed_in(tiny_run, tiny_model, config, tmp_path):
    distill_run([tiny_run], config, tmp_path / "run", beam=1)
    with pytest.raises(RegardError, match="another `search`"):
        distill_run([tiny_run], config, tmp_path / "run", beam=2)
    with pytest.raises(RegardError, match="another `choice`"):
        distill_run([tiny_run], config, tmp_path / "run", choice="closest", beam=2)
    with pytest.raises(RegardError, match="another `teachers`"):
        distill_run([tiny_run, tiny_model], config, tmp_path / "run", beam=1)
    shutil.rmtree(tmp_path / "run/distilled")
    distill_run([tiny_model], config, tmp_path / "run", beam=1)
