"""A search that is watched finds the same, and tells of every step."""

import pytest
from toy_models import PrefixModel, random_sources

from regard.config import Config, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.models.folder import LoadedModel
from regard.search.beam import beam_search
from regard.search.greedy import greedy_search
from regard.search.translator import Translator
from regard.search.watching import translate_watched

CONFIG = {"max_length_factor": 1e-6, "max_length_extra": 9}
TEXTS = ["a cat sat", "", "the dog ran over the hill"]


class Enough(Exception):  # noqa: N818
    pass


def translator(**search: object) -> Translator:
    tokenizer = train_tokenizer(TEXTS * 5, TokenizerConfig(kind="bpe", vocabulary_size=300))
    model = PrefixModel(tokenizer.vocabulary_size, seed=6, scale=6.0, end_bias=1.0)
    config = Config(search=SearchConfig(**{**CONFIG, **search}))
    return Translator(LoadedModel(model, config, Tokenizers(tokenizer, tokenizer)))


def test_greedy_search_tells_of_each_token() -> None:
    model, (source, mask) = PrefixModel(end_bias=-1.0), random_sources(6, 2)
    config = SearchConfig(beam=1, **CONFIG)
    told: dict[int, list[list[int]]] = {}
    found = greedy_search(
        model, source, mask, config, watch=lambda row, tokens: told.setdefault(row, []).append(tokens)
    )
    assert found == greedy_search(model, source, mask, config)
    for row, [hypothesis] in enumerate(found):
        steps = len(hypothesis.tokens) - (not hypothesis.finished)
        assert told.get(row, []) == [hypothesis.tokens[: step + 1] for step in range(steps)]


def test_beam_search_tells_of_the_likeliest_beginning() -> None:
    model, (source, mask) = PrefixModel(end_bias=-1.0), random_sources(6, 2)
    config = SearchConfig(beam=4, **CONFIG)
    told: dict[int, list[list[int]]] = {}
    found = beam_search(model, source, mask, config, watch=lambda row, tokens: told.setdefault(row, []).append(tokens))
    assert found == beam_search(model, source, mask, config)
    assert set(told) == set(range(6))
    for steps in told.values():
        assert [len(tokens) for tokens in steps] == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("beam", [1, 3])
def test_texts_grow(beam: int) -> None:
    model = translator(beam=beam)
    told: list[tuple[int, str]] = []
    found = translate_watched(model, TEXTS, lambda number, text: told.append((number, text)))
    assert found == model.translate_nbest(TEXTS, 1)
    assert [number for number, _ in told] == sorted(number for number, _ in told)
    assert {number for number, _ in told} == {0, 2}


def test_whoever_watches_can_end_it() -> None:
    def stop(number: int, text: str) -> None:
        raise Enough

    with pytest.raises(Enough):
        translate_watched(translator(), TEXTS, stop)


def test_nothing_is_told_of_samples() -> None:
    model = translator(sampling=True)
    told: list[str] = []
    assert translate_watched(model, TEXTS, lambda _, text: told.append(text)) == model.translate_nbest(TEXTS, 1)
    assert told == []
