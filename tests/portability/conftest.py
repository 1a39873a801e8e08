"""Small models of every variant, with real tokenizers, and sentences that they can read."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small_world import ENGLISH, GERMAN

from regard.config import TokenizerConfig
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.models import build_model
from regard.models.folder import save_model
from regard.recipe import parse_config


@pytest.fixture(scope="session")
def tokenizers() -> dict[bool, Tokenizers]:
    """A shared vocabulary (True), and two of unequal size (False)."""
    config = TokenizerConfig(kind="bpe", vocabulary_size=340)
    both = train_tokenizer([*ENGLISH, *GERMAN], config)
    source = train_tokenizer(ENGLISH, TokenizerConfig(kind="bpe", vocabulary_size=320))
    return {True: Tokenizers(both, both), False: Tokenizers(source, train_tokenizer(GERMAN, config))}


def of_kind(kind: str) -> Tokenizers:
    both = train_tokenizer([*ENGLISH, *GERMAN], TokenizerConfig(kind=kind, vocabulary_size=600))
    return Tokenizers(both, both)


MakeModel = Callable[..., Path]


@pytest.fixture
def make_model(tmp_path: Path, tokenizers: dict[bool, Tokenizers]) -> MakeModel:
    """Write a model folder: every parameter random, biases and norms too.

    Tokens that are named in `never` are unlikely, as training teaches of marks. A `kind` has a vocabulary of its own.
    """

    def make(
        name: str = "model",
        shared: bool = True,
        seed: int = 7,
        never: tuple[int, ...] = (),
        kind: str | None = None,
        **settings: object,
    ) -> Path:
        sizes = {"width": 16, "feed_forward": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}
        config = parse_config(
            {
                "data": {"source_language": "en", "target_language": "de"},
                "tokenizer": {"shared": shared, "vocabulary_size": 340},
                "model": {**sizes, "dropout": 0.0, "max_positions": 64, **settings},
                "search": {"max_length_factor": 1.0, "max_length_extra": 8},
            }
        )
        chosen = tokenizers[shared] if kind is None else of_kind(kind)
        model = build_model(config.model, chosen.source.vocabulary_size, chosen.target.vocabulary_size)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
            if never:
                model.output.bias[list(never)] = -20.0
        folder = tmp_path / name
        save_model(folder, model, config, chosen, card="# A model\n")
        return folder

    return make


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.en"
    path.write_text("\n".join(ENGLISH[::13]) + "\n", encoding="utf-8")
    return path
