import numpy as np
import pytest
import torch
from torch import nn

from regard.config import ModelConfig
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.explain import attribution as module
from regard.explain.attribution import attribution
from regard.models import build_model

VOCABULARY = 30
SOURCE, READ, TARGET = [7, 8, 7, EOS_ID], [BOS_ID, 9, 8, 9], [9, 8, 9, EOS_ID]


def model_of(**keys):
    sizes = dict(width=16, feed_forward=16, heads=2, encoder_layers=2, decoder_layers=2, dropout=0.5)
    model = build_model(ModelConfig(**(sizes | keys)), VOCABULARY, VOCABULARY, 3)
    return model.eval().requires_grad_(False)


class Moved(nn.Module):
    """An embedding whose token at one place is moved by `shift` [D]."""

    def __init__(self, embedding, place, shift):
        super().__init__()
        self.embedding, self.place, self.shift = embedding, place, shift

    def forward(self, tokens, start=0):
        embedded = self.embedding(tokens, start).clone()
        embedded[:, self.place] += self.shift * self.embedding.scale
        return embedded


def log_probabilities(model):
    source = torch.tensor([SOURCE])
    logits = model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([READ]))[0]
    return logits.log_softmax(-1)[range(len(TARGET)), TARGET]


def parts_by_differences(model, side, tokens, step=1e-5):
    """[T, places]: the norm of x ⊙ dlogp/dx, each derivative from two passes through a moved embedding."""
    name = f"{side}_embedding"
    embedding = getattr(model, name)
    width = embedding.table.embedding_dim
    parts = torch.zeros(len(TARGET), len(tokens), dtype=torch.float64)
    for place, token in enumerate(tokens):
        slopes = torch.zeros(len(TARGET), width, dtype=torch.float64)
        for element in range(width):
            there = []
            for sign in (1, -1):
                shift = torch.zeros(width, dtype=torch.float64)
                shift[element] = sign * step
                setattr(model, name, Moved(embedding, place, shift))
                there.append(log_probabilities(model))
            slopes[:, element] = (there[0] - there[1]) / (2 * step)
        setattr(model, name, embedding)
        parts[:, place] = (slopes * embedding.table.weight[token]).norm(dim=1)
    return parts.numpy()


@pytest.mark.parametrize(
    "keys",
    [{}, {"norm": "pre", "tie": "none"}, {"positions": "learned", "activation": "swiglu"}, {"positions": "rotary"}],
    ids=str,
)
@torch.no_grad()
def test_shares_are_those_of_finite_differences(keys):
    model = model_of(width=8, **keys).double()
    by_source, by_read = attribution(model, SOURCE, READ, TARGET)
    expected = [parts_by_differences(model, side, tokens) for side, tokens in (("source", SOURCE), ("target", READ))]
    total = sum(part.sum(axis=1, keepdims=True) for part in expected)
    np.testing.assert_allclose(by_source, expected[0] / total, atol=1e-5)
    np.testing.assert_allclose(by_read, expected[1] / total, atol=1e-5)
    assert by_source.min() > 1e-4


def test_rows_of_both_sides_add_up_to_one_and_nothing_is_owed_to_the_future():
    by_source, by_read = attribution(model_of(), SOURCE, READ, TARGET)
    np.testing.assert_allclose(by_source.sum(axis=1) + by_read.sum(axis=1), 1, atol=1e-5)
    assert not np.triu(by_read, 1).any()
    assert (np.diagonal(by_read) > 0).all()


def test_pieces_of_the_work_give_the_whole(monkeypatch):
    model = model_of()
    whole = attribution(model, SOURCE, READ, TARGET)
    monkeypatch.setattr(module, "TOKENS_AT_ONCE", 17)
    for one, other in zip(whole, attribution(model, SOURCE, READ, TARGET), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_kernels_give_what_torch_gives():
    model = model_of(width=64, heads=4, feed_forward=64)
    fast = attribution(model, SOURCE, READ, TARGET)
    for one, other in zip(fast, attribution(model.double(), SOURCE, READ, TARGET), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_model_stays_as_it_was():
    model = model_of()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    embeddings = model.source_embedding, model.target_embedding
    attribution(model, SOURCE, READ, TARGET)
    assert (model.source_embedding, model.target_embedding) == embeddings
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in model.parameters())


def test_it_works_where_gradients_are_switched_off():
    model = model_of()
    expected = attribution(model, SOURCE, READ, TARGET)
    with torch.inference_mode():
        log_probabilities(model)  # caches positions as tensors of inference
        found = attribution(model, SOURCE, READ, TARGET)
    np.testing.assert_array_equal(found[0], expected[0])


def test_a_model_that_is_sure_still_has_shares():
    model = model_of(tie="none").requires_grad_(False)
    model.output.weight.mul_(200)
    by_source, by_read = attribution(model, SOURCE, READ, TARGET)
    np.testing.assert_allclose(by_source.sum(axis=1) + by_read.sum(axis=1), 1, atol=1e-5)
