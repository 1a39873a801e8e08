"""Each score function is its formula, and each fast path equals the plain one."""

import math

import pytest
import torch

from regard.nn.masks import causal, padding_mask, pattern_mask
from regard.nn.randomness import Dropout, Randomness
from regard.nn.scores import SCORES

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 3, 4, 5, 8


def attend(name, probability=0.0):
    torch.manual_seed(0)
    return SCORES[name](HEADS, WIDTH, Dropout(probability, Randomness()))


def inputs():
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(BATCH, HEADS, QUERIES, WIDTH, generator=generator)
    key, value = torch.randn(2, BATCH, HEADS, KEYS, WIDTH, generator=generator)
    mask = torch.ones(BATCH, 1, 1, KEYS, dtype=torch.bool)
    mask[1, ..., 3:] = False
    return query, key, value, mask


def score_by_formula(name, module, q, k):
    """One head's score of one query and one key, by hand."""
    if name == "dot":
        return q[1] @ k[1]
    if name == "scaled-dot":
        return q[1] @ k[1] / math.sqrt(WIDTH)
    head = q[0]
    if name == "general":
        return q[1] @ module.weight[head] @ k[1]
    hidden = torch.tanh(q[1] @ module.query_weight[head] + k[1] @ module.key_weight[head])
    return hidden @ module.direction[head, :, 0]


@pytest.mark.parametrize("name", SCORES)
@torch.no_grad()
def test_scores_are_their_formula(name):
    module = attend(name)
    query, key, _, _ = inputs()
    scores = module.score(query, key)
    for batch, head, i, j in [(0, 0, 0, 0), (1, 2, 3, 4), (0, 1, 2, 3)]:
        expected = score_by_formula(name, module, (head, query[batch, head, i]), (head, key[batch, head, j]))
        torch.testing.assert_close(scores[batch, head, i, j], expected)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_the_fast_path_equals_the_plain_one(name, masked):
    module = attend(name)
    query, key, value, mask = inputs()
    query.requires_grad_()
    fast, no_weights = module(query, key, value, mask if masked else None)
    plain, weights = module.reference(query, key, value, mask if masked else None)
    assert no_weights is None or module.scale is None
    torch.testing.assert_close(fast, plain)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, QUERIES))
    gradients = [torch.autograd.grad(output.square().sum(), query)[0] for output in (fast, plain)]
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)


def test_attention_dropout_acts_on_weights():
    module = attend("scaled-dot", probability=0.5).train()
    query, key, _, _ = inputs()
    value = torch.eye(KEYS, WIDTH).expand(BATCH, HEADS, KEYS, WIDTH)
    dropped, _ = module(query, key, value)
    kept, weights = module.eval()(query, key, value, need_weights=True)
    zeroed = dropped[..., :KEYS] == 0
    assert zeroed.any()
    torch.testing.assert_close(dropped[..., :KEYS][~zeroed], 2 * weights[~zeroed])
    torch.testing.assert_close(kept[..., :KEYS], weights)


def test_masks_say_who_may_attend():
    assert pattern_mask(causal, 3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    real = torch.tensor([[True, True, False], [True, True, True]])
    assert padding_mask(real).shape == (2, 1, 1, 3)
    assert padding_mask(real[1:]) is None
