"""The process for BPE-dropout: the same tokens as without it, whatever happens to it."""

import gc

import numpy as np
import pytest

from regard.config import TokenizerConfig
from regard.data.dropout_encoder import DropoutEncoder
from regard.data.subword_dropout import SubwordDropout
from regard.data.tokenizer import Tokenizers, train_tokenizer

TEXTS = ["The animal didn't cross the street.", "它太累了 🐾", "", "the the the animal", "line\u2028separator"] * 3


@pytest.fixture(scope="module")
def tokenizers():
    source, target = (
        train_tokenizer(iter(texts), TokenizerConfig(vocabulary_size=size))
        for texts, size in ((TEXTS[:2] * 9, 340), (TEXTS[2:4] * 9, 320))
    )
    return Tokenizers(source, target)


def rows(ragged):
    return [ragged.row(index).tolist() for index in range(len(ragged))]


def test_the_process_gives_the_tokens_of_the_plain_call(tokenizers):
    encoder = DropoutEncoder(tokenizers, 0.3, own_process=True)
    for side, tokenizer in enumerate((tokenizers.source, tokenizers.target)):
        for seed in [(1, 2, 3), (1, 2, 4)]:
            expected = SubwordDropout(tokenizer, 0.3).encode_batch(TEXTS, seed)
            assert rows(encoder.encode(side, TEXTS, seed)) == expected
    assert encoder._process.poll() is None


def test_no_texts_give_no_rows(tokenizers):
    assert len(DropoutEncoder(tokenizers, 0.3, own_process=True).encode(0, [], (1,))) == 0


def test_a_process_that_dies_changes_nothing(tokenizers):
    encoder = DropoutEncoder(tokenizers, 0.3, own_process=True)
    expected = rows(encoder.encode(0, TEXTS, (5,)))
    encoder._process.kill()
    encoder._process.wait()
    assert rows(encoder.encode(0, TEXTS, (5,))) == expected
    assert rows(encoder.encode(1, TEXTS, (6,))) == SubwordDropout(tokenizers.target, 0.3).encode_batch(TEXTS, (6,))


def test_a_process_that_cannot_start_changes_nothing(tokenizers, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-such-python"))
    encoder = DropoutEncoder(tokenizers, 0.3, own_process=True)
    alone = DropoutEncoder(tokenizers, 0.3, own_process=False)
    assert rows(encoder.encode(0, TEXTS, (5,))) == rows(alone.encode(0, TEXTS, (5,)))


def test_the_process_ends_with_its_encoder(tokenizers):
    encoder = DropoutEncoder(tokenizers, 0.3, own_process=True)
    assert isinstance(encoder.encode(0, TEXTS, (5,)).values, np.ndarray)
    process = encoder._process
    del encoder
    gc.collect()
    assert process.wait(timeout=30) is not None
