"""The same sentence gives the same output whatever it is batched with."""

import gzip
from pathlib import Path

import pytest
import torch
from torch import Tensor
from toy_models import PrefixModel, mix, random_sources

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.builtin import generate
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.data.vocabulary import EOS_ID
from regard.models import build_model
from regard.models.contract import Record, State
from regard.models.folder import LoadedModel
from regard.search.doubts import CLOSE, Doubts
from regard.search.searching import Searching
from regard.search.translator import Translator

REPOSITORY = Path(__file__).parent.parent.parent


def sentences(count: int) -> list[str]:
    """Of Multi30k where it is there, else of the built-in corpus."""
    path = REPOSITORY / "../shared/data/multi30k/raw/test_2016_flickr.en.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file][:count]
    return [pair.source for pair in generate("fr", 1).train[:count]]


def peaked_translator(texts: list[str]) -> Translator:
    """Random weights, large enough for a next token that stands out, as a trained model's does."""
    tokenizer = train_tokenizer(texts, TokenizerConfig(vocabulary_size=1000))
    sizes = {"width": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1, "tie": "none"}
    config = Config(model=ModelConfig(**sizes), search=SearchConfig(max_length_factor=0.3, max_length_extra=4))
    model = build_model(config.model, tokenizer.vocabulary_size, tokenizer.vocabulary_size, seed=1).eval()
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.8, generator=generator)
    return Translator(LoadedModel(model.requires_grad_(False), config, Tokenizers(tokenizer, tokenizer)))


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 5])
def test_a_thousand_sentences_in_batches_of_every_size(beam: int) -> None:
    texts = sentences(1000)
    translator = peaked_translator(texts)

    def in_batches_of(size: int) -> list[str]:
        batches = (texts[start : start + size] for start in range(0, len(texts), size))
        return [text for batch in batches for text in translator.translate(batch, beam=beam)]

    alone = in_batches_of(1)
    assert len(set(alone)) > 200, "a model that says always the same shows nothing"
    assert in_batches_of(7) == alone
    assert in_batches_of(64) == alone
    assert translator.translate(texts, beam=beam) == alone
    assert translator.translate(texts, beam=beam, batch_tokens=500) == alone


class Noisy(PrefixModel):
    """As a matrix product does, it gives each logit noise that depends on the number of rows; half of them tie."""

    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        logits, after = super().step(tokens, state, record)
        logits[:, 4::2] = logits[:, 5::2]
        noise = mix(torch.tensor(len(tokens)), torch.arange(logits.size(1))) % 3
        return logits + noise.float() * 1e-6, after


SEARCHES = {
    "greedy": SearchConfig(beam=1, max_length_extra=4),
    "beam": SearchConfig(beam=4, max_length_extra=4),
    "sampling": SearchConfig(sampling=True, samples=3, top_k=3, max_length_extra=4),
}


@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES)
def test_noise_decides_nothing(config: SearchConfig) -> None:
    model = Noisy(vocabulary=24, seed=5, scale=4.0, end_bias=2.0)
    source, mask = random_sources(20)
    sources = [row[own].tolist() for row, own in zip(source, mask, strict=True)]
    searching = Searching(model, model, config, config.width)
    alone = [[found.tokens for found in searching.search([own])[0]] for own in sources]
    together = [[found.tokens for found in row] for row in searching.search(sources)]
    unguarded = [[found.tokens for found in row] for row in searching._batch(sources, (), None, None)]
    assert together == alone
    assert unguarded != alone, "the toy must show what the guard is for"


def test_only_close_choices_are_doubted() -> None:
    doubts = Doubts(6)
    gaps = torch.tensor([CLOSE / 2, CLOSE * 2, float("nan"), float("inf"), -CLOSE / 2])
    doubts.weigh(torch.tensor([1, 2, 3, 4, 5]), gaps)
    assert doubts.sentences() == [1, 5]


def test_a_sentence_alone_is_searched_once() -> None:
    model = Noisy(vocabulary=24, seed=5, end_bias=2.0)
    Searching(model, model, SEARCHES["greedy"]).search([[5, 6, EOS_ID]])
    assert set(model.rows_seen) == {1}
