"""Models for the pool: one that the engine in C takes, and one that it does not."""

from pathlib import Path

import pytest
import torch

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.models import build_model
from regard.models.folder import LoadedModel
from regard.search.translator import Translator

SENTENCES = ["the cat eats 3 apples.", "a man sees 11 apples.", "my friend likes", "le chat mange des pommes"]


@pytest.fixture(scope="session")
def native_translator() -> Translator:
    """A small model whose heads are as wide as the engine in C wants them; it talks nonsense of various lengths."""
    tokenizer = train_tokenizer(SENTENCES * 3, TokenizerConfig(kind="bpe", vocabulary_size=320))
    sizes = ModelConfig(width=32, heads=2, feed_forward=32, encoder_layers=1, decoder_layers=2, dropout=0.0)
    search = SearchConfig(beam=3, max_length_factor=1.0, max_length_extra=8)
    config = Config.model_validate(
        {"data": {"source_language": "en", "target_language": "fr"}, "model": sizes, "search": search}
    )
    torch.manual_seed(3)
    model = build_model(config.model, tokenizer.vocabulary_size, tokenizer.vocabulary_size)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.eval().requires_grad_(False)
    return Translator(LoadedModel(model, config, Tokenizers(tokenizer, tokenizer)))


@pytest.fixture(scope="session")
def plain_translator(tiny_run: Path) -> Translator:
    """A tiny model with heads too narrow for the engine in C."""
    return Translator.load(tiny_run)


@pytest.fixture(params=["native", "plain"])
def translator(request: pytest.FixtureRequest) -> Translator:
    """Each in turn."""
    chosen: Translator = request.getfixturevalue(f"{request.param}_translator")
    return chosen
