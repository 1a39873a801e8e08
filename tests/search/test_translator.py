import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from toy_models import PrefixModel

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.errors import ConfigError, InputError
from regard.models import build_model
from regard.models.folder import LoadedModel, save_model
from regard.search import texts as texts_module
from regard.search.scoring import token_log_probabilities
from regard.search.translator import Translator

SENTENCES = ["a cat sat", "the dog", "", "two dogs and a cat ran over the hill", "  \t ", "a", "the cat saw the dog"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SENTENCES * 3, TokenizerConfig(kind="bpe", vocabulary_size=320))


def toy(tokenizer: Tokenizer, end_bias: float = 1.5, **search: Any) -> Translator:
    settings = {"beam": 3, "max_length_factor": 1.0, "max_length_extra": 3, **search}
    model = PrefixModel(tokenizer.vocabulary_size, seed=6, scale=6.0, end_bias=end_bias)
    return Translator(LoadedModel(model, Config(search=SearchConfig(**settings)), Tokenizers(tokenizer, tokenizer)))


def transformer(tokenizer: Tokenizer, **model: Any) -> Translator:
    sizes = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    config = Config(model=ModelConfig(**sizes, **model))
    size = tokenizer.vocabulary_size
    return Translator(LoadedModel(build_model(config.model, size, size), config, Tokenizers(tokenizer, tokenizer)))


def test_blank_texts_have_empty_translations_and_never_reach_the_model(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    assert translator.translate(["", "   ", "\t", "\u3000"]) == [""] * 4
    assert translator.translate_nbest([" "])[0][0].text == ""
    assert translator.model.rows_seen == []
    assert translator.translate([]) == []


@pytest.mark.parametrize("beam", [1, 3])
def test_order_is_kept_and_batches_do_not_matter(tokenizer: Tokenizer, beam: int) -> None:
    translator = toy(tokenizer)
    together = translator.translate(SENTENCES, beam=beam)
    assert [together[2], together[4]] == ["", ""]
    assert len(set(together)) > 3, "a toy that says always the same shows nothing"
    assert together == [translator.translate([text], beam=beam)[0] for text in SENTENCES]
    assert together == translator.translate(SENTENCES, beam=beam, batch_tokens=1)
    assert together == list(reversed(translator.translate(SENTENCES[::-1], beam=beam)))


def test_options_of_a_call_go_over_the_models_own(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    assert len(translator.translate_nbest(SENTENCES[:1])[0]) == 3
    assert len(translator.translate_nbest(SENTENCES[:1], beam=5)[0]) == 5
    assert len(translator.translate_nbest(SENTENCES[:1], 2, beam=5)[0]) == 2
    assert translator.translate(SENTENCES, beam=None) == translator.translate(SENTENCES)
    plain = translator.translate_nbest(SENTENCES[:1], length_penalty="none")[0][0]
    paper = translator.translate_nbest(SENTENCES[:1], length_penalty="paper", alpha=1.0)[0][0]
    assert plain.score == plain.log_probability
    assert paper.score > paper.log_probability


def test_wrong_options_are_named(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    with pytest.raises(ConfigError, match=r"did you mean `search.beam`"):
        translator.translate(["a"], beem=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"search\.beam"):
        translator.translate(["a"], beam=0)
    with pytest.raises(InputError, match="beam of 1 cannot give the 2 best"):
        translator.translate_nbest(["a"], 2, beam=1)


def test_n_best_is_ranked_and_whole(tokenizer: Tokenizer) -> None:
    [found] = toy(tokenizer).translate_nbest(["a cat sat"], beam=6)
    assert len({tuple(translation.tokens) for translation in found}) == 6
    for translation in found:
        assert translation.text == tokenizer.decode(translation.tokens).replace("\n", " ")
        assert translation.pieces == tokenizer.pieces(translation.tokens)
    finished = [translation.score for translation in found if translation.finished]
    assert finished == sorted(finished, reverse=True)


def test_what_is_not_a_list_of_lines_is_refused(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    with pytest.raises(InputError, match="list"):
        translator.translate("a cat")
    with pytest.raises(InputError, match="line 2 holds a line break"):
        translator.translate(["a", "a\ncat"])
    with pytest.raises(InputError, match=r"line 11 .*surrogate"):
        translator.translate(["a", "a \ud83d cat"], first_line=10)
    with pytest.raises(InputError, match="line 1 is of type NoneType"):
        translator.translate([None])  # type: ignore[list-item]


def test_a_translation_is_one_line(tokenizer: Tokenizer) -> None:
    class SaysLineBreaks(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            logits = super()._logits(key)
            logits[:, 4 + ord("\n")] += 20.0
            return logits

    model = SaysLineBreaks(tokenizer.vocabulary_size)
    translator = Translator(LoadedModel(model, Config(), Tokenizers(tokenizer, tokenizer)))
    [text] = translator.translate(["a"])
    assert text
    assert "\n" not in text


def test_a_stream_keeps_order_and_reads_no_further_than_it_must(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "CHUNK_LINES", 4)
    translator = toy(tokenizer)
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for taken in range(1, 15):
            yield SENTENCES[(taken - 1) % len(SENTENCES)]

    stream = translator.translate_stream(lines())
    expected = translator.translate(SENTENCES)
    assert next(stream) == expected[0]
    assert taken == 4
    assert [expected[0], *stream] == expected * 2


def test_long_lines_are_cut_into_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "CHUNK_CHARACTERS", 10)
    assert list(texts_module.chunks(["abcdef", "ghijkl", "m"])) == [["abcdef", "ghijkl"], ["m"]]


def test_progress_advances_by_every_text(tokenizer: Tokenizer) -> None:
    class Counting:
        done = 0

        def advance(self, amount: int = 1, status: str = "") -> None:
            self.done += amount

        def note(self, line: str) -> None: ...

    work = Counting()
    toy(tokenizer).translate(SENTENCES, progress=work, batch_tokens=10)
    assert work.done == len(SENTENCES)
    toy(tokenizer).score(SENTENCES, SENTENCES, progress=work, batch_tokens=10)
    assert work.done == 2 * len(SENTENCES)


def test_an_over_long_line_is_cut_with_a_warning_that_names_it(tokenizer: Tokenizer) -> None:
    translator = transformer(tokenizer, positions="learned", max_positions=12)
    long = "z" * 100
    with pytest.warns(UserWarning, match=r"line 8: \d+ tokens are more than the 11"):
        texts = translator.translate(["a cat", "", long, "the dog"], first_line=6)
    with pytest.warns(UserWarning, match="line 1:"):
        assert texts[2] == translator.translate([long + "more"])[0], "what is left out has no influence"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [texts[0], texts[3]] == translator.translate(["a cat", "the dog"])
    with pytest.raises(InputError, match="line 2: its target has"):
        translator.score(["a", "a"], ["a", long])


def test_a_model_in_training_is_used_without_dropout_and_given_back(tokenizer: Tokenizer) -> None:
    translator = transformer(tokenizer, dropout=0.5)
    translator.model.train()
    first = translator.score(["a cat"], ["the dog"])[0]
    assert first.log_probability == translator.score(["a cat"], ["the dog"])[0].log_probability
    assert translator.translate(["a cat"]) == translator.translate(["a cat"])
    assert translator.model.training


@pytest.mark.parametrize("make", [toy, transformer])
def test_a_score_is_the_sum_of_stepwise_log_probabilities(tokenizer: Tokenizer, make: Any) -> None:
    translator = make(tokenizer)
    sources, targets = SENTENCES, ["le chien", "", "x", "a", "deux chiens et un chat", "ü", "  "]
    scores = translator.score(sources, targets, batch_tokens=40)
    model = translator.model.eval()
    for source_text, target_text, score in zip(sources, targets, scores, strict=True):
        source = torch.tensor([[*tokenizer.encode(source_text), EOS_ID]])
        target = tokenizer.encode(target_text)
        expected = []
        with torch.inference_mode():
            state = model.start(model.encode(source, torch.ones_like(source, dtype=torch.bool)))
            for before, after in zip([BOS_ID, *target], [*target, EOS_ID], strict=True):
                logits, state = model.step(torch.tensor([before]), state)
                expected.append(float(logits[0].log_softmax(dim=-1)[after]))
        assert score.per_token == pytest.approx(expected, abs=1e-4)
        assert score.log_probability == pytest.approx(sum(expected), abs=1e-3)
        assert score.tokens == len(target) + 1 == len(score.pieces)
        assert score.pieces[-1] == "</s>"
        assert score.perplexity == pytest.approx(2.718281828 ** -(sum(expected) / len(expected)), rel=1e-3)


def test_scoring_a_translation_gives_the_log_probability_that_the_search_found(tokenizer: Tokenizer) -> None:
    translator = toy(tokenizer)
    [found] = translator.translate_nbest(["a cat sat"], beam=4)
    finished = [translation for translation in found if translation.finished]
    assert len(finished) > 1
    source = tokenizer.encode("a cat sat")
    values = token_log_probabilities(translator.model, [source] * len(finished), [each.tokens for each in finished])
    for translation, per_token in zip(finished, values, strict=True):
        assert sum(per_token) == pytest.approx(translation.log_probability, abs=1e-4)


def test_unequal_numbers_of_sources_and_targets(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="2 sources and 1 targets"):
        toy(tokenizer).score(["a", "b"], ["c"])


def test_a_saved_model_translates_the_same(tokenizer: Tokenizer, tmp_path: Any) -> None:
    translator = transformer(tokenizer)
    save_model(tmp_path, translator.model, translator.config, translator.tokenizers, "a card")
    loaded = Translator.load(tmp_path)
    assert loaded.languages == ("en", "fr")
    assert loaded.translate(SENTENCES, beam=2) == translator.translate(SENTENCES, beam=2)
