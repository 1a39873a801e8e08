"""Tokenizers of every kind, trained once for all tests."""

import pytest
from tokenizer_world import corpus

from regard.config import TokenizerConfig
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.data.tokenizer_kinds import KINDS


@pytest.fixture(scope="session")
def trained() -> dict[str, Tokenizer]:
    return {kind: train_tokenizer(iter(corpus()), TokenizerConfig(kind=kind, vocabulary_size=600)) for kind in KINDS}


@pytest.fixture(params=sorted(KINDS))
def tokenizer(request: pytest.FixtureRequest, trained: dict[str, Tokenizer]) -> Tokenizer:
    return trained[request.param]
