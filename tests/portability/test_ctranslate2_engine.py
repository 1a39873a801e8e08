"""CTranslate2 as an engine: the same texts as ours, the same options, an export that is made once."""

import pytest

pytest.importorskip("ctranslate2")

from small_world import ENGLISH, GERMAN

from regard.models.folder import load_model
from regard.portability.cache import CACHE, cached_export
from regard.portability.ctranslate2_engine import CTranslate2Translator
from regard.recipe import parse_config
from regard.search.translator import Translator


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of a few seconds that has learned its small language."""
    from regard.pipeline import train_run

    folder = tmp_path_factory.mktemp("trained")
    lines = dict(zip(ENGLISH, GERMAN, strict=True))
    for name, side in (("en", lines.keys()), ("de", lines.values())):
        (folder / f"train.{name}").write_text("\n".join(side) + "\n", encoding="utf-8")
    config = parse_config(
        {
            "data": {"train": [{"source": str(folder / "train.en"), "target": str(folder / "train.de")}]},
            "tokenizer": {"vocabulary_size": 340},
            "model": {
                "width": 32,
                "feed_forward": 64,
                "heads": 2,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "dropout": 0.0,
            },
            "train": {"max_steps": 150, "batch_tokens": 512, "warmup_steps": 5, "learning_rate": 0.01, "threads": 1},
        }
    )
    train_run(config, folder / "run")
    return folder / "run"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def agreement(ours: list[str], theirs: list[str]) -> float:
    return sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)


TEXTS = [*ENGLISH, *(line[: 7 + number % 20] for number, line in enumerate(ENGLISH)), "", "  "]


@pytest.mark.parametrize("penalty", [{}, {"length_penalty": "mean", "alpha": 0.6}, {"length_penalty": "none"}])
@pytest.mark.parametrize("beam", [1, 5])
def test_a_trained_model_says_the_same(trained, beam, penalty):
    ours = Translator.load(trained).translate(TEXTS, beam=beam, **penalty)
    theirs = CTranslate2Translator.load(trained).translate(TEXTS, beam=beam, **penalty)
    assert len(set(ours)) > 1
    assert agreement(ours, theirs) >= 0.99


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("variant", [{}, {"norm": "pre"}, {"shared": False, "tie": "target", "seed": 11}])
def test_a_random_model_says_the_same(make_model, beam, variant):
    model = make_model(**variant, output_bias=True, never=(0, 1, 3))
    ours = Translator.load(model).translate(TEXTS, beam=beam)
    assert agreement(ours, CTranslate2Translator.load(model).translate(TEXTS, beam=beam)) >= 0.99


def test_scores_tokens_and_ends_are_the_same(trained):
    ours = Translator.load(trained).translate_nbest(TEXTS[:20], 1, beam=3)
    theirs = CTranslate2Translator.load(trained).translate_nbest(TEXTS[:20], 1, beam=3)
    for (one,), (other,) in zip(ours, theirs, strict=True):
        assert (one.text, one.tokens, one.pieces, one.finished) == (
            other.text,
            other.tokens,
            other.pieces,
            other.finished,
        )
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)


def test_the_n_best_come_in_order(trained):
    for found in CTranslate2Translator.load(trained).translate_nbest(ENGLISH[:5], 3, beam=4):
        assert len(found) == 3
        ended = [translation.score for translation in found if translation.finished]
        assert ended == sorted(ended, reverse=True)


def test_an_output_keeps_to_the_limit_of_its_own_sentence(make_model):
    model = make_model(seed=5)
    texts = [ENGLISH[0], "the cat", ENGLISH[1] + " " + ENGLISH[2]]
    for ours, theirs in zip(
        *(kind.load(model).translate_nbest(texts, 1, beam=1) for kind in (Translator, CTranslate2Translator)),
        strict=True,
    ):
        assert ours[0].tokens == theirs[0].tokens
        assert ours[0].finished == theirs[0].finished


def test_the_command_translates_with_it(trained, regard, cache):
    lines = "\n".join(ENGLISH[:6]).encode() + b"\n\n"
    ours = regard("translate", trained, "--beam", "2", input=lines)
    theirs = regard("translate", trained, "--beam", "2", "--engine", "ctranslate2", input=lines)
    assert theirs.code == 0, theirs.errors
    assert ours.output == theirs.output
    assert len(list((cache / "ctranslate2").iterdir())) == 1


def test_an_export_is_made_once_and_again_for_other_weights(make_model, cache):
    first, second = make_model("first"), make_model("second", seed=8)
    place = cached_export(first, load_model(first))
    stamp = (place / "model.bin").stat().st_mtime_ns
    assert cached_export(first, load_model(first)) == place
    assert (place / "model.bin").stat().st_mtime_ns == stamp
    assert cached_export(second, load_model(second)) != place


def test_a_model_without_a_form_there_is_refused(make_model, regard):
    done = regard("translate", make_model(score="additive"), "--engine", "ctranslate2", input=b"the cat\n")
    assert done.code == 2
    assert "additive" in done.errors


def test_without_the_package_the_error_says_what_to_install(trained, regard, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    done = regard("translate", trained, "--engine", "ctranslate2", input=b"the cat\n")
    assert done.code == 2
    assert "pip install -e '.[export]'" in done.errors
