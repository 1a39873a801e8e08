"""A search that others join and leave gives each the same as a search of its own."""

import itertools

import pytest
import torch

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from regard.errors import ModelFolderError
from regard.models import build_model
from regard.models.folder import LoadedModel
from regard.native import library as native
from regard.native import resident as native_resident
from regard.native.engine import takes_bytes
from regard.native.resident import Bell
from regard.search.resident import Joined, ResidentTranslator
from regard.search.translator import Translation, Translator

pytestmark = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")

WORDS = ["cat", "dog", "the", "a", "sat", "ran", "over", "hill", "two", "and"]
TEXTS = [" ".join(itertools.islice(itertools.cycle(WORDS), start, start + 1 + 3 * start % 17)) for start in range(40)]
FOR_LONG = 2**30


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, TokenizerConfig(kind="bpe", vocabulary_size=320))


def translator(tokenizer: Tokenizer, **search: object) -> Translator:
    sizes = ModelConfig(width=32, heads=2, feed_forward=48, encoder_layers=2, decoder_layers=2, dropout=0.0)
    config = Config(
        model=sizes, search=SearchConfig(**{"beam": 3, "max_length_factor": 1.0, "max_length_extra": 8, **search})
    )
    torch.manual_seed(3)
    model = build_model(sizes, tokenizer.vocabulary_size, tokenizer.vocabulary_size)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return Translator(LoadedModel(model.eval().requires_grad_(False), config, Tokenizers(tokenizer, tokenizer)))


def finish(resident: ResidentTranslator, *parties: Joined) -> list[list[list[Translation]]]:
    """What each party got, all of it."""
    results: list[dict[int, list[Translation]]] = [{} for _ in parties]
    while resident.left:
        resident.run(FOR_LONG, Bell())
        for own, party in zip(results, parties, strict=True):
            own.update({number: party.translations(number) for number in party.ended()})
    return [[own[number] for number in sorted(own)] for own in results]


@pytest.mark.parametrize("compute", ["float32", "int8"])
def test_company_that_comes_and_goes_changes_no_bit(tokenizer: Tokenizer, compute: str) -> None:
    if compute == "int8" and not takes_bytes():
        pytest.skip("this processor does not multiply bytes")
    model = translator(tokenizer, compute=compute)
    resident = ResidentTranslator(model, model.config.search)
    parties, results, expected = [], [], []
    for number, start in enumerate(range(0, 40, 5)):
        beam, best = [(1, 1), (3, 1), (3, 3), (7, 2)][number % 4]
        search = model.config.search.model_copy(update={"beam": beam})
        parties.append(resident.join(TEXTS[start : start + 5], search, best, watched=number % 2 == 0))
        results.append({})
        expected.append(model.translate_nbest(TEXTS[start : start + 5], best, beam=beam))
        for _ in range(number % 3 + 1):
            resident.run(number % 2 + 1, Bell())
            for own, party in zip(results, parties, strict=True):
                own.update({each: party.translations(each) for each in party.ended()})
    for own, rest in zip(results, finish(resident, *parties), strict=True):
        own.update(zip([number for number in range(5) if number not in own], rest, strict=True))
    assert [[own[number] for number in range(5)] for own in results] == expected
    assert all(party.left == 0 for party in parties)


def test_minimum_bayes_risk(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer, mbr=True)
    resident = ResidentTranslator(model, model.config.search)
    [found] = finish(resident, resident.join(TEXTS[:9], model.config.search, 2))
    assert found == model.translate_nbest(TEXTS[:9], 2)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_is_watched_shows_each_step(tokenizer: Tokenizer, beam: int) -> None:
    model = translator(tokenizer, beam=beam)
    resident = ResidentTranslator(model, model.config.search)
    joined = resident.join(TEXTS[:6], model.config.search, 1, watched=True)
    seen: list[list[str]] = [[] for _ in range(6)]
    while resident.left:
        resident.run(1, Bell())
        for number, text in joined.so_far():
            seen[number].append(text)
    final = [joined.translations(number)[0] for number in range(6)]
    assert final == [found[0] for found in model.translate_nbest(TEXTS[:6], 1)]
    assert any(len(own) > 5 for own in seen)
    if beam == 1:
        for own, translation in zip(seen, final, strict=True):
            assert len(own) == len(translation.tokens) - (not translation.finished)
            assert all(translation.text.startswith(text) for text in own)


def test_who_gives_up_leaves_and_the_others_do_not_notice(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer, max_length_extra=60)
    resident = ResidentTranslator(model, model.config.search)
    staying = resident.join(TEXTS[:10], model.config.search, 1)
    leaving = resident.join(TEXTS[10:], model.config.search, 1)
    resident.run(1, Bell())
    before = resident.left
    for number in range(30):
        leaving.give_up(number)
    resident.run(1, Bell())
    assert leaving.left == 0
    assert resident.left <= before - 20
    [found] = finish(resident, staying)
    assert found == model.translate_nbest(TEXTS[:10], 1)


@pytest.mark.parametrize("more", [0, 2])
def test_a_bell_brings_it_back_after_some_steps_more(tokenizer: Tokenizer, more: int) -> None:
    model = translator(tokenizer, max_length_extra=60)
    resident = ResidentTranslator(model, model.config.search)
    joined = resident.join(TEXTS[:1], model.config.search, 1, watched=True)
    bell = Bell()
    bell.ring()
    for visits in (1, 2, 3):
        resident.run(FOR_LONG, bell, more)
        assert len(joined.prepared.so_far(0)) == visits * (1 + more)
    resident.run(1, bell, more)
    assert len(joined.prepared.so_far(0)) == 3 * (1 + more) + 1
    bell.reset()
    resident.run(FOR_LONG, bell, more)
    assert resident.left == 0


def test_those_who_end_soon_after_another_leave_with_it(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer)
    one_by_one, together = (ResidentTranslator(model, model.config.search) for _ in range(2))
    visits = []
    for resident, more in ((one_by_one, 0), (together, 4)):
        joined, found, count = resident.join(TEXTS, model.config.search, 1), {}, 0
        while resident.left:
            resident.run(FOR_LONG, Bell(), more)
            found.update({number: joined.translations(number) for number in joined.ended()})
            count += 1
        assert [found[number] for number in range(len(TEXTS))] == model.translate_nbest(TEXTS, 1)
        visits.append(count)
    assert visits[1] < visits[0]


def test_a_long_text_joins_short_ones_that_are_under_way(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer)
    resident = ResidentTranslator(model, model.config.search)
    short = resident.join(TEXTS[:9], model.config.search, 1)
    resident.run(1, Bell())
    long = [" ".join(WORDS * 40)]
    found = finish(resident, short, resident.join(long, model.config.search, 1))
    assert found == [model.translate_nbest(TEXTS[:9], 1), model.translate_nbest(long, 1)]


def test_little_memory_means_fewer_at_a_time(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = translator(tokenizer)
    expected = model.translate_nbest(TEXTS, 1)
    monkeypatch.setattr(native_resident, "MOST_BYTES", 1)
    resident = ResidentTranslator(model, model.config.search)
    [found] = finish(resident, resident.join(TEXTS, model.config.search, 1))
    assert found == expected


def test_what_is_not_a_number_is_said(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer)
    model.model.output.weight[7] = torch.nan
    resident = ResidentTranslator(model, model.config.search)
    joined = resident.join(TEXTS[:2], model.config.search, 1)
    while resident.left:
        resident.run(FOR_LONG, Bell())
    with pytest.raises(ModelFolderError, match="not numbers"):
        joined.translations(0)


def test_after_its_end_it_refuses(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer)
    resident = ResidentTranslator(model, model.config.search)
    resident.join(TEXTS[:5], model.config.search, 1)
    resident.run(1, Bell())
    resident.close()
    resident.close()
    with pytest.raises(MemoryError):
        resident.join(TEXTS[:1], model.config.search, 1)
    with pytest.raises(MemoryError):
        resident.run(1, Bell())


def test_searches_that_the_engine_does_not_know(tokenizer: Tokenizer) -> None:
    model = translator(tokenizer)
    assert ResidentTranslator.suits(model, SearchConfig(beam=4))
    for search in (SearchConfig(sampling=True), SearchConfig(coverage_penalty=0.2), SearchConfig(max_repeats=3)):
        assert not ResidentTranslator.suits(model, search)
