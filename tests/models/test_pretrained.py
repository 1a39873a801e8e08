"""Embeddings can start from word vectors that were learned elsewhere."""

import pytest
import torch

from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import CorpusError
from regard.models import build_model
from regard.models.pretrained import place_pretrained_vectors
from regard.recipe import parse_config

VECTORS = {"cat": [3.0, 0, 0, 4, 0, 0, 0, 0], "dog": [0, 30.0, 0, 0, 0, 0, 0, 0]}


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    lines = [f"{word} {' '.join(map(str, values))}" for word, values in VECTORS.items()]
    path.write_text(f"{len(lines)} 8\n" + "\n".join(lines) + "\n")
    return path


def model_and_tokenizers(vectors, tie, width=8):
    config = parse_config(
        {
            "tokenizer": {"kind": "word", "vocabulary_size": 300},
            "model": {"width": width, "heads": 2, "feed_forward": 8, "encoder_layers": 1, "decoder_layers": 1}
            | {"tie": tie, "source_vectors": str(vectors)},
        }
    )
    tokenizer = train_tokenizer(["cat dog cat dog bird bird"], config.tokenizer)
    size = tokenizer.vocabulary_size
    return build_model(config.model, size, size, seed=1), config.model, Tokenizers(tokenizer, tokenizer)


@pytest.mark.parametrize("tie", ["three-way", "none"])
def test_known_words_get_their_vectors_and_others_keep_theirs(vectors, tie):
    model, config, tokenizers = model_and_tokenizers(vectors, tie)
    before = model.source_embedding.table.weight.detach().clone()
    target_before = model.target_embedding.table.weight.detach().clone()
    place_pretrained_vectors(model, config, tokenizers)
    table = model.source_embedding.table.weight.detach()
    cat, dog = (tokenizers.source.encode(word)[0] for word in ("cat", "dog"))
    torch.testing.assert_close(table[dog].norm() / table[cat].norm(), torch.tensor(6.0))
    torch.testing.assert_close(table[cat] / table[cat].norm(), torch.tensor(VECTORS["cat"]) / 5)
    assert table[[cat, dog]].square().mean().item() == pytest.approx(1 / 8)
    others = [index for index in range(len(table)) if index not in (cat, dog)]
    assert torch.equal(table[others], before[others])
    shared = tie == "three-way"
    assert torch.equal(model.target_embedding.table.weight, target_before) != shared


def test_vectors_of_another_width_are_refused(vectors):
    model, config, tokenizers = model_and_tokenizers(vectors, "none", width=16)
    with pytest.raises(CorpusError, match="16"):
        place_pretrained_vectors(model, config, tokenizers)
