from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from regard.config import ModelConfig
from regard.data.vocabulary import BOS_ID, EOS_ID, SPECIAL_TOKENS
from regard.errors import InputError
from regard.explain.capture import attention_of
from regard.models import build_model
from regard.models.contract import SequenceToSequence

WORDS = ["▁the", "▁ani", "mal", "▁was", "▁tired", "▁l", "'", "animal", "▁fatigué"]


class FakeTokenizer:
    """Tokens are the words above, separated by spaces in the text."""

    vocabulary = (*SPECIAL_TOKENS, *WORDS)

    def encode(self, text):
        return [self.vocabulary.index(piece) for piece in text.split()]

    def pieces(self, ids):
        return [self.vocabulary[index] for index in ids]


@dataclass
class FakeTokenizers:
    source: FakeTokenizer
    target: FakeTokenizer


@dataclass
class FakeLoaded:
    model: nn.Module
    tokenizers: FakeTokenizers


class NoAttention(SequenceToSequence):
    """A model that keeps to the contract but has no attention to record."""

    def __init__(self):
        super().__init__()
        self.output = nn.Linear(2, 2)

    encode = decode = start = step = None

    def features(self, source, source_mask, target, record=None):
        return torch.zeros(1, target.size(1), 2)


NoAttention.__abstractmethods__ = frozenset()


def loaded(model=None):
    config = ModelConfig(width=16, feed_forward=16, heads=2, encoder_layers=3, decoder_layers=2, dropout=0.5)
    size = len(FakeTokenizer.vocabulary)
    model = model if model is not None else build_model(config, size, size, 1)
    return FakeLoaded(model, FakeTokenizers(FakeTokenizer(), FakeTokenizer()))


SOURCE, TARGET = "▁the ▁ani mal ▁was ▁tired", "▁l ' animal ▁fatigué"


def test_maps_have_a_place_for_every_layer_head_and_token():
    maps = attention_of(loaded(), SOURCE, TARGET)
    assert maps.source == ("▁the", "▁ani", "mal", "▁was", "▁tired", "</s>")
    assert maps.target == ("▁l", "'", "animal", "▁fatigué", "</s>")
    assert maps.target_input == ("<s>", "▁l", "'", "animal", "▁fatigué")
    assert maps.encoder.shape == (3, 2, 6, 6)
    assert maps.decoder.shape == (2, 2, 5, 5)
    assert maps.cross.shape == (2, 2, 5, 6)
    for weights in (maps.encoder, maps.decoder, maps.cross):
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_decoder_rows_see_nothing_to_come():
    maps = attention_of(loaded(), SOURCE, TARGET)
    assert not np.triu(maps.decoder[0, 0], 1).any()


def test_maps_are_those_the_model_records_for_the_pair():
    one = loaded()
    maps = attention_of(one, SOURCE, TARGET)
    recorded = {}
    source = torch.tensor([[*one.tokenizers.source.encode(SOURCE), EOS_ID]])
    target = torch.tensor([[BOS_ID, *one.tokenizers.target.encode(TARGET)]])
    with torch.no_grad():
        one.model.eval().features(source, torch.ones_like(source, dtype=torch.bool), target, recorded.__setitem__)
    np.testing.assert_allclose(maps.encoder[2], recorded["encoder.2"][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(maps.cross[1], recorded["cross.1"][0].numpy(), atol=1e-6)


def test_dropout_is_off_while_looking_and_the_mode_is_put_back():
    one = loaded()
    one.model.train()
    first, second = attention_of(one, SOURCE, TARGET), attention_of(one, SOURCE, TARGET)
    np.testing.assert_array_equal(first.cross, second.cross)
    assert one.model.training


def test_whole_words_merge_every_side():
    pieces = attention_of(loaded(), SOURCE, TARGET)
    words = pieces.words()
    assert words.source == ("the", "animal", "was", "tired", "</s>")
    assert words.target == ("l'", "animal", "fatigué", "</s>")
    assert words.target_input == ("<s>", "l'", "animal", "fatigué")
    assert words.decoder.shape == (2, 2, 4, 4)
    np.testing.assert_allclose(words.cross[0, 0, 2, 1], pieces.cross[0, 0, 3, 1:3].sum(), rtol=1e-5)
    np.testing.assert_allclose(words.decoder.sum(axis=-1), 1, atol=1e-5)


def test_json_is_plain_and_keeps_the_figures():
    maps = attention_of(loaded(), SOURCE, TARGET)
    json = maps.to_json()
    assert json["source"] == list(maps.source)
    assert isinstance(json["encoder"][0][0][0][0], float)
    np.testing.assert_allclose(json["encoder"], maps.encoder, atol=1e-4)


def test_an_empty_target_has_one_row_that_predicts_the_end():
    maps = attention_of(loaded(), SOURCE, "")
    assert maps.target == ("</s>",)
    assert maps.words().target_input == ("<s>",)


def test_a_model_without_attention_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="no encoder attention"):
        attention_of(loaded(NoAttention()), SOURCE, TARGET)
