"""Several models searched together in C find what torch finds with them, whatever is searched beside."""

import numpy as np
import pytest
import torch

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError, ModelFolderError
from regard.models import build_model
from regard.models.ensemble import Ensemble
from regard.models.folder import LoadedModel
from regard.native import library as native
from regard.native import search as searching
from regard.native.engine import takes_bytes
from regard.native.ensemble import PackedEnsemble
from regard.native.resident import Bell
from regard.search.batching import pad
from regard.search.beam import beam_search
from regard.search.engine import engine_for, packed_model
from regard.search.native import native_search
from regard.search.resident import ResidentTranslator
from regard.search.translator import Translator

pytestmark = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")

VOCABULARY = 90
SMALL = {"width": 32, "feed_forward": 48, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "output_bias": True}
MEMBERS = (
    SMALL,
    SMALL | {"width": 48, "heads": 3, "feed_forward": 208, "decoder_layers": 3, "norm": "pre"},
    SMALL | {"width": 16, "heads": 1, "encoder_layers": 1, "decoder_layers": 1, "tie": "none"},
)
AVERAGES = ("probabilities", "log-probabilities")
CONFIG = SearchConfig(beam=5, max_length_factor=1.0, max_length_extra=8)


def member(sizes, seed, vocabulary=VOCABULARY, peaked=1.0, end=3.0):
    """Random weights; `peaked` makes it sure of what it says, `end` makes it end early."""
    model = build_model(ModelConfig(**sizes), vocabulary, vocabulary, 1)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6, generator=generator)
    with torch.no_grad():
        model.output.weight.mul_(peaked)
        model.output.bias[EOS_ID] = end
    return model.eval().requires_grad_(False)


def ensemble(average="probabilities", **changes):
    return Ensemble([member(sizes, seed, **changes) for seed, sizes in enumerate(MEMBERS)], average)


def packed(model, compute="float32"):
    together = packed_model(engine_for(model, compute))
    assert isinstance(together, PackedEnsemble)
    return together


def sources(count=40, longest=19, vocabulary=VOCABULARY):
    chance = np.random.default_rng(1)
    return [[*chance.integers(4, vocabulary, chance.integers(0, longest)).tolist(), EOS_ID] for _ in range(count)]


def search(model, given, config=CONFIG, best=1):
    return native_search(model, given, config, best, None, lambda count: None)


def same(found, expected, tolerance=1e-4):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        assert [one.finished for one in ours] == [one.finished for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=tolerance, rel=1e-5)
            assert one.log_probability == pytest.approx(other.log_probability, abs=tolerance, rel=1e-5)
            assert one.score == pytest.approx(other.score, abs=tolerance, rel=1e-5)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(("beam", "best"), [(1, 1), (5, 1), (5, 5)])
@pytest.mark.parametrize(("penalty", "end"), [("none", 0.0), ("paper", 5.5)])
def test_unequal_members_find_what_they_find_in_torch(average, beam, best, penalty, end):
    model, given = ensemble(average, end=end), sources()
    config = CONFIG.model_copy(update={"beam": beam, "length_penalty": penalty})
    expected = beam_search(model, *pad(given, torch.device("cpu")), config, best)
    assert end or len({tuple(one[0].tokens) for one in expected}) > 10
    same(search(packed(model), given, config, best), expected)


@pytest.mark.parametrize("average", AVERAGES)
def test_a_larger_vocabulary_and_a_member_that_is_sure(average):
    """What one member finds likely and another all but impossible is not lost."""
    members = [member(MEMBERS[0], 1, 1205, peaked=20.0), member(MEMBERS[1], 2, 1205), member(MEMBERS[2], 3, 1205)]
    model, given = Ensemble(members, average), sources(20, vocabulary=1205)
    expected = beam_search(model, *pad(given, torch.device("cpu")), CONFIG, 5)
    same(search(packed(model), given, best=5), expected, tolerance=2e-3)


@pytest.mark.parametrize("average", AVERAGES)
def test_a_model_with_itself_is_itself(average):
    model, given = member(SMALL, 1), sources()
    alone = search(packed_model(engine_for(model)), given, best=5)
    same(search(packed(Ensemble([model, model], average)), given, best=5), alone)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("compute", ["float32", "int8"])
@pytest.mark.parametrize("beam", [1, 5])
def test_company_changes_no_bit(monkeypatch, average, compute, beam):
    if compute == "int8" and not takes_bytes():
        pytest.skip("this processor does not multiply bytes")
    together, given = packed(ensemble(average), compute), sources(60)

    def run(rows, threads, batch_tokens, parts):
        monkeypatch.setattr(searching, "ROWS", rows)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        config = CONFIG.model_copy(update={"beam": beam, "batch_tokens": batch_tokens})
        starts = range(0, len(given), parts)
        return [one for start in starts for one in search(together, given[start : start + parts], config, beam)]

    alone = run(rows=1, threads=1, batch_tokens=1, parts=1)
    for settings in ((7, 1, 30, 60), (64, 2, 4096, 60), (256, 3, 50, 13)):
        assert run(*settings) == alone, "equal to the last bit, scores included"


@pytest.mark.skipif(not takes_bytes(), reason="this processor does not multiply bytes")
def test_bytes_come_near_floats():
    model, given = ensemble(peaked=0.3), sources(100)
    config = SearchConfig(beam=1, max_length_factor=0.0001, max_length_extra=1)
    floats, in_bytes = (search(packed(model, compute), given, config) for compute in ("float32", "int8"))
    differences = [
        abs(one[0].log_probability - other[0].log_probability) for one, other in zip(floats, in_bytes, strict=True)
    ]
    assert 0 < np.median(differences) < 0.1


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("token", [7, VOCABULARY - 1])
def test_what_is_not_a_number_is_said(average, which, token):
    model = ensemble(average)
    model.each()[which].output.weight[token] = torch.nan
    with pytest.raises(ModelFolderError, match="not numbers"):
        search(packed(model), sources(3))


def test_a_member_that_changes_is_packed_anew():
    model, given = ensemble(), sources(20)
    together = packed(model)
    before = search(together, given)
    assert search(together, given) == before
    model.each()[1].output.weight.mul_(-1)
    after = search(together, given)
    assert after != before
    same(after, search(packed(model), given))


def test_members_that_the_engine_does_not_know_are_stepped_through():
    model = Ensemble([member(SMALL, 2), member(SMALL | {"activation": "gelu"}, 1)])
    assert packed_model(engine_for(model)) is None
    assert packed_model(engine_for(Ensemble([member(SMALL, 1), member(SMALL, 2, vocabulary=80)]))) is None
    with pytest.raises(InputError, match="compute int8"):
        engine_for(model, "int8")


class Stepping(Translator):
    """The same model, step by step."""

    def _packed(self, search, beginnings=()) -> None:
        return None


@pytest.fixture(scope="module")
def texts():
    words = ["cat", "dog", "the", "a", "sat", "ran", "over", "hill", "two", "and"]
    return [" ".join(words[(start + 3 * n) % 10] for n in range(1 + start % 13)) for start in range(40)]


@pytest.fixture(scope="module")
def loaded(texts):
    tokenizer = train_tokenizer(texts, TokenizerConfig(kind="bpe", vocabulary_size=320))
    model = ensemble(vocabulary=tokenizer.vocabulary_size)
    return LoadedModel(model, Config(model=ModelConfig(**SMALL), search=CONFIG), Tokenizers(tokenizer, tokenizer))


def test_a_translator_takes_it_by_itself(loaded, texts):
    translator, stepping = Translator(loaded), Stepping(loaded)
    assert isinstance(translator._packed(CONFIG), PackedEnsemble)
    assert translator._packed(CONFIG.model_copy(update={"max_repeats": 3})) is None
    same(translator.translate_nbest(texts, 5), stepping.translate_nbest(texts, 5))
    assert translator.translate(texts[:9], mbr=True) == stepping.translate(texts[:9], mbr=True)


def test_texts_join_those_under_way(loaded, texts):
    translator = Translator(loaded)
    resident = ResidentTranslator(translator, CONFIG)
    first = resident.join(texts[:20], CONFIG, 1)
    resident.run(2, Bell())
    greedy = CONFIG.model_copy(update={"beam": 1})
    second = resident.join(texts[20:], greedy, 1)
    while resident.left:
        resident.run(2**30, Bell())
    for joined, some, beam in ((first, texts[:20], 5), (second, texts[20:], 1)):
        assert [joined.translations(n) for n in range(20)] == translator.translate_nbest(some, 1, beam=beam)
