"""The controls of a search, as a program asks a translator for them."""

import math
import warnings
from typing import Any

import pytest
import torch
from toy_models import PrefixModel

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from regard.errors import ConfigError, InputError
from regard.models import build_model
from regard.models.folder import LoadedModel
from regard.search.mbr import expected_utilities
from regard.search.scoring import token_log_probabilities
from regard.search.translator import Translator

SENTENCES = ["a cat sat", "the dog", "two dogs and a cat ran over the hill", "a", "the cat saw the dog"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SENTENCES * 3, TokenizerConfig(kind="bpe", vocabulary_size=320))


def toy(tokenizer: Tokenizer, model: PrefixModel | None = None, **search: Any) -> Translator:
    settings = {"beam": 3, "max_length_factor": 1.0, "max_length_extra": 5, **search}
    model = model or PrefixModel(tokenizer.vocabulary_size, seed=6, scale=6.0, end_bias=1.5)
    return Translator(LoadedModel(model, Config(search=SearchConfig(**settings)), Tokenizers(tokenizer, tokenizer)))


def transformer(tokenizer: Tokenizer) -> Translator:
    sizes = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    config = Config(model=ModelConfig(**sizes), search=SearchConfig(max_length_factor=1.0, max_length_extra=5))
    size = tokenizer.vocabulary_size
    model = build_model(config.model, size, size, seed=1).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return Translator(LoadedModel(model, config, Tokenizers(tokenizer, tokenizer)))


SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 4},
    "rules": {"beam": 4, "min_length": 2, "no_repeat_ngram": 2, "max_repeats": 3},
    "coverage": {"beam": 4, "coverage_penalty": 0.2},
    "sampling": {"sampling": True, "samples": 4, "temperature": 0.8, "top_p": 0.9},
    "minimum Bayes risk": {"sampling": True, "samples": 4, "mbr": True},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_log_probabilities_of_tokens_are_those_of_scoring(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    translator = transformer(tokenizer)
    for text, found in zip(SENTENCES, translator.translate_nbest(SENTENCES, **options), strict=True):
        source = tokenizer.encode(text)
        outputs = [translation.tokens for translation in found]
        values = token_log_probabilities(translator.model, [source] * len(found), outputs)
        for translation, per_token in zip(found, values, strict=True):
            ended = len(translation.token_log_probabilities) > len(translation.tokens)
            assert ended or not translation.finished
            expected = per_token if ended else per_token[:-1]
            assert translation.token_log_probabilities == pytest.approx(expected, abs=1e-3)
            assert math.fsum(expected) == pytest.approx(translation.log_probability, abs=1e-3)


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_the_n_best_are_ranked_and_the_first_is_the_translation(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    translator = transformer(tokenizer)
    found = translator.translate_nbest(SENTENCES, **options)
    assert translator.translate(SENTENCES, **options) == [row[0].text for row in found]
    for row in found:
        ranks = [(not each.finished, -(each.score if each.utility is None else round(each.utility, 6))) for each in row]
        assert ranks == sorted(ranks)
        assert len(row) == (options.get("samples") or options["beam"])
    fewer = translator.translate_nbest(SENTENCES, 1, **options)
    assert [row[0].text for row in fewer] == [row[0].text for row in found]


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_batches_do_not_matter(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    translator = transformer(tokenizer)
    together = translator.translate(SENTENCES, **options)
    assert together == [translator.translate([text], **options)[0] for text in SENTENCES]
    assert together == translator.translate(SENTENCES, batch_tokens=1, **options)
    assert together == translator.translate(SENTENCES[::-1], **options)[::-1]


def test_outputs_begin_with_their_prefixes(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    prefixes = ["the", "", "a dog ", "two  dogs", "ü"]
    for options in ({"beam": 1}, {"beam": 3}, {"sampling": True}):
        found = translator.translate(SENTENCES, prefixes=prefixes, **options)
        assert all(text.startswith(prefix.rstrip()) for text, prefix in zip(found, prefixes, strict=True))
        assert found[1] == translator.translate(SENTENCES, **options)[1]
        assert found[0] == translator.translate(SENTENCES[:1], prefixes=["the"], **options)[0]
    assert translator.translate(SENTENCES, prefixes=[""] * 5) == translator.translate(SENTENCES)


def test_prefixes_that_do_not_fit_are_refused(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    with pytest.raises(InputError, match="1 prefixes for 2 texts"):
        translator.translate(["a", "b"], prefixes=["a"])
    with pytest.raises(InputError, match="line 5 is blank, but has a prefix"):
        translator.translate(["a", " "], prefixes=["a", "b"], first_line=4)
    with pytest.raises(InputError, match="prefixes: line 2 holds a line break"):
        translator.translate(["a", "b"], prefixes=["a", "b\nc"])
    with pytest.raises(InputError, match=r"line 2: its prefix has \d+ tokens, but the output may have no more than"):
        translator.translate(["a", "b"], prefixes=["a", "xyz" * 20])


def test_lengths_have_their_limits(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    for row in translator.translate_nbest(SENTENCES, min_length=40):
        assert all(len(translation.tokens) >= 40 for translation in row)
    for row in translator.translate_nbest(SENTENCES, max_length=2):
        assert all(len(translation.tokens) <= 2 for translation in row)
    with pytest.raises(ConfigError, match=r"`min_length` \(3\) must be below `max_length` \(3\)"):
        translator.translate(SENTENCES, min_length=3, max_length=3)


class SaysTheSame(PrefixModel):
    def _logits(self, key: torch.Tensor) -> torch.Tensor:
        logits = super()._logits(key)
        logits[:, 4 + ord("a")] += 30.0
        return logits


def test_a_loop_is_stopped_with_a_warning_that_names_the_line(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer, SaysTheSame(tokenizer.vocabulary_size))
    with pytest.warns(UserWarning, match=r"line 8: the translation says the same over and over.*\(<0x61> <0x61>"):
        [[found]] = translator.translate_nbest(["a cat"], first_line=8, beam=1, max_repeats=3)
    assert found.looped
    assert found.text == "aaa"
    assert not found.finished
    assert found.mean_log_probability == pytest.approx(
        sum(found.token_log_probabilities) / len(found.token_log_probabilities)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [[without]] = translator.translate_nbest(["a cat"], beam=1)
    assert not without.looped
    assert len(without.text) > 3


@pytest.mark.parametrize("options", [{"beam": 8}, {"sampling": True, "samples": 8}], ids=["beam", "samples"])
def test_minimum_bayes_risk_takes_what_is_most_like_the_others(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    translator = toy(tokenizer)
    for text in SENTENCES:
        [plain] = translator.translate_nbest([text], **options)
        weights = None if "sampling" in options else [math.exp(each.log_probability) for each in plain]
        utilities = expected_utilities([each.text for each in plain], weights)
        best = max(zip(utilities, plain, strict=True), key=lambda each: (each[1].finished, round(each[0], 6)))
        [found] = translator.translate_nbest([text], 1, mbr=True, **options)
        assert found[0].text == best[1].text
        assert found[0].utility == pytest.approx(best[0])


def test_options_without_effect_are_refused(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    for name, value in {"samples": 3, "temperature": 0.5, "top_k": 4, "top_p": 0.5, "sampling_seed": 2}.items():
        with pytest.raises(InputError, match=f"`{name}` has a meaning for sampling alone"):
            translator.translate(["a"], **{name: value})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sampling keeps no beam"):
        translator.translate(["a"], sampling=True, beam=4)
    with pytest.raises(ConfigError, match="`mbr` chooses among several outputs: set `beam`"):
        translator.translate(["a"], mbr=True, beam=1)
    with pytest.raises(ConfigError, match="set `samples` to 2 or more"):
        translator.translate(["a"], mbr=True, sampling=True)
    with pytest.raises(ConfigError, match="`max_repeats` of 1"):
        translator.translate(["a"], max_repeats=1)
    with pytest.raises(InputError, match="2 samples cannot give the 3 best"):
        translator.translate_nbest(["a"], 3, sampling=True, samples=2)
    with pytest.raises(InputError, match="gives no cross-attention"):
        translator.translate(["a"], coverage_penalty=0.2)


def test_a_recipe_may_ask_for_sampling_and_a_call_for_none(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer, sampling=True, samples=4, temperature=0.7)
    assert len(translator.translate_nbest(["a cat"])[0]) == 4
    assert translator.translate(["a cat"], sampling=False) == toy(tokenizer).translate(["a cat"])
