"""CTranslate2 as an engine: the same texts as ours, the same options, an export that is made once."""

import pytest

pytest.importorskip("ctranslate2")

from small_world import ENGLISH

from regard.portability.cache import CACHE, cached_export
from regard.models.folder import load_model
from regard.search.ctranslate2_engine import CTranslate2Translator
from regard.search.translator import Translator


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def agreement(ours: list[str], theirs: list[str]) -> float:
    return sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)


TEXTS = [*ENGLISH, *(line[: 7 + number % 20] for number, line in enumerate(ENGLISH)), "", "  "]


@pytest.mark.parametrize("penalty", [{}, {"length_penalty": "mean", "alpha": 0.6}, {"length_penalty": "none"}])
@pytest.mark.parametrize("beam", [1, 5])
def test_a_trained_model_says_the_same(tiny_run, beam, penalty):
    ours = Translator.load(tiny_run).translate(TEXTS, beam=beam, **penalty)
    theirs = CTranslate2Translator.load(tiny_run).translate(TEXTS, beam=beam, **penalty)
    assert len(set(ours)) > 1
    assert agreement(ours, theirs) >= 0.99


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("variant", [{}, {"norm": "pre"}, {"shared": False, "tie": "target", "seed": 11}])
def test_a_random_model_says_the_same(make_model, beam, variant):
    model = make_model(**variant)
    ours = Translator.load(model).translate(TEXTS, beam=beam)
    assert agreement(ours, CTranslate2Translator.load(model).translate(TEXTS, beam=beam)) >= 0.99


def test_scores_tokens_and_ends_are_the_same(tiny_run):
    ours = Translator.load(tiny_run).translate_nbest(TEXTS[:20], 1, beam=3)
    theirs = CTranslate2Translator.load(tiny_run).translate_nbest(TEXTS[:20], 1, beam=3)
    for (one,), (other,) in zip(ours, theirs, strict=True):
        assert (one.text, one.tokens, one.pieces, one.finished) == (other.text, other.tokens, other.pieces, other.finished)
        assert one.log_probability == pytest.approx(other.log_probability, abs=0.5)


def test_the_n_best_come_in_order(tiny_run):
    for found in CTranslate2Translator.load(tiny_run).translate_nbest(ENGLISH[:5], 3, beam=4):
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


def test_the_command_translates_with_it(tiny_run, regard, cache):
    lines = "\n".join(ENGLISH[:6]).encode() + b"\n\n"
    ours = regard("translate", tiny_run, "--beam", "2", input=lines)
    theirs = regard("translate", tiny_run, "--beam", "2", "--engine", "ctranslate2", input=lines)
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


def test_without_the_package_the_error_says_what_to_install(tiny_run, regard, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    done = regard("translate", tiny_run, "--engine", "ctranslate2", input=b"the cat\n")
    assert done.code == 2
    assert "pip install 'regard[export]'" in done.errors
