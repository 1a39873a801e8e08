"""Each kernel equals the slow, obvious form in torch: values and gradients, one thread and several."""

import copy

import pytest
import torch
from torch import nn

from regard.native import library as native
from regard.native.attention import MAX_KEYS, cross_attention, self_attention
from regard.native.attention import suits as suits_attention
from regard.native.rows import add_norm, exponentials_, linear_relu, suits
from regard.nn.attention import CrossAttention, SelfAttention, join_heads, split_heads
from regard.nn.masks import causal, padding_mask, pattern_mask
from regard.nn.positions import Rotation
from regard.nn.randomness import Dropout, Randomness
from regard.nn.residual import PostNorm
from regard.nn.scores import ScaledDot

pytestmark = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"], autouse=True)
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attend(query, key, value, heads, mask, scale):
    """The reference, on [B, T, D]."""
    query, key, value = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    scores = query @ key.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)


def compare(fast, slow, inputs):
    """Values and gradients of two functions of the same tensors."""
    values, gradients = [], []
    for function in (fast, slow):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        value = function(*leaves)
        gradients.append(torch.autograd.grad((value * numbers(*value.shape, seed=9)).sum(), leaves))
        values.append(value)
    torch.testing.assert_close(values[0], values[1], atol=2e-6, rtol=1e-5)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=3e-5, rtol=1e-4)


MASKS = {
    "none": lambda sentences, heads, queries, keys: None,
    "causal": lambda sentences, heads, queries, keys: pattern_mask(causal, queries, keys),
    "padding": lambda sentences, heads, queries, keys: padding_mask(
        torch.arange(keys) <= torch.arange(sentences)[:, None]
    ),
    "any": lambda sentences, heads, queries, keys: (
        (numbers(sentences, heads, queries, keys) > 0) | torch.eye(queries, keys, dtype=torch.bool)
    ),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("length", [1, 7, 16, 17, MAX_KEYS])
@pytest.mark.parametrize(("heads", "width"), [(1, 16), (4, 32), (2, 64), (1, 128)])
def test_self_attention(mask, length, heads, width):
    size = heads * width
    packed, bias = numbers(5, length, 3 * size), numbers(3 * size)
    allowed = MASKS[mask](5, heads, length, length)
    assert suits_attention(packed[..., :size], packed[..., :size], heads)
    compare(
        lambda packed, bias: self_attention(packed, bias, heads, allowed, 0.2),
        lambda packed, bias: attend(*(packed + bias).chunk(3, -1), heads, allowed, 0.2),
        [packed, bias],
    )


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("length", [1, 17, MAX_KEYS])
@pytest.mark.parametrize(("heads", "width"), [(4, 32), (2, 64)])
def test_self_attention_of_what_is_rotated(mask, length, heads, width):
    size, rotation = heads * width, Rotation(width)
    packed, bias = numbers(5, length, 3 * size), numbers(3 * size)
    allowed = MASKS[mask](5, heads, length, length)
    tables = rotation.tables(0, length, packed)

    def plain(packed, bias):
        query, key, value = (packed + bias).chunk(3, -1)
        query, key = (join_heads(rotation(split_heads(part, heads))) for part in (query, key))
        return attend(query, key, value, heads, allowed, 0.2)

    compare(lambda packed, bias: self_attention(packed, bias, heads, allowed, 0.2, tables), plain, [packed, bias])


@pytest.mark.parametrize("mask", ["none", "padding", "any"])
@pytest.mark.parametrize(("queries", "keys"), [(1, 9), (9, 1), (20, 33)])
def test_cross_attention(mask, queries, keys):
    allowed = MASKS[mask](5, 4, queries, keys)
    if allowed is not None:
        allowed = allowed.clone()
        allowed[..., 0] = True
    compare(
        lambda query, bias, packed, biases: cross_attention(query, bias, packed, biases, 4, allowed, 0.3),
        lambda query, bias, packed, biases: attend(query + bias, *(packed + biases).chunk(2, -1), 4, allowed, 0.3),
        [numbers(5, queries, 128), numbers(128), numbers(5, keys, 256, seed=1), numbers(256, seed=2)],
    )


def test_large_scores_do_not_overflow():
    packed = 30 * numbers(2, 6, 48)
    zero = torch.zeros(48)
    got, expected = self_attention(packed, zero, 1, None, 1.0), attend(*packed.chunk(3, -1), 1, None, 1.0)
    torch.testing.assert_close(got, expected, atol=1e-3, rtol=1e-5)


def test_what_is_not_a_number_is_not_hidden():
    packed = numbers(2, 6, 48)
    packed[1, 2, 5] = torch.nan
    attended = self_attention(packed, torch.zeros(48), 1, None, 1.0)
    assert not attended[0].isnan().any()
    assert attended[1, 2].isnan().all()
    logits = numbers(2, 40)
    logits[1, 33] = torch.nan
    _, sums = exponentials_(logits)
    assert sums.isnan().tolist() == [False, True]


def test_a_query_without_keys_gets_nothing():
    mask = torch.zeros(1, 1, 6, 6, dtype=torch.bool)
    assert not self_attention(numbers(1, 6, 48), torch.zeros(48), 1, mask, 1.0).any()


@pytest.mark.parametrize("dropped", [True, False])
def test_add_norm(dropped):
    mask = (numbers(3, 5, 32, seed=5) > -1).float() / 0.84 if dropped else None
    compare(
        lambda x, y, bias, gain, shift: add_norm(x, y, bias, mask, gain, shift, 1e-5),
        lambda x, y, bias, gain, shift: nn.functional.layer_norm(
            x + (y + bias) * (1 if mask is None else mask), (32,), gain, shift, 1e-5
        ),
        [*(numbers(3, 5, 32, seed=seed) for seed in (1, 2)), *(numbers(32, seed=seed) for seed in (3, 4, 6))],
    )


def test_linear_relu():
    compare(
        linear_relu,
        lambda x, weight, bias: torch.relu(nn.functional.linear(x, weight, bias)),
        [numbers(3, 5, 24), numbers(48, 24, seed=1), numbers(48, seed=2)],
    )


@pytest.mark.parametrize("width", [1, 15, 16, 70, 1003])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_exponentials(width, scale):
    logits = numbers(9, width) * scale
    result = logits.clone()
    largest, sums = exponentials_(result)
    exact = (logits.double() - logits.double().amax(-1, keepdim=True)).exp()
    assert torch.equal(largest, logits.amax(-1))
    torch.testing.assert_close(result.double(), exact, atol=1e-30, rtol=3e-6)
    torch.testing.assert_close(sums.double(), exact.sum(-1), atol=0, rtol=3e-6)


def test_sentences_do_not_depend_on_their_neighbours():
    packed, bias = numbers(9, 13, 96), numbers(96)
    alone = torch.cat([self_attention(row[None], bias, 2, None, 0.3) for row in packed])
    assert torch.equal(self_attention(packed, bias, 2, None, 0.3), alone)


def without_kernels(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: None)


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_modules_give_the_same_with_and_without_kernels(kind, monkeypatch):
    randomness = Randomness()
    attend = ScaledDot(2, 16, Dropout(0.0, randomness))
    layer = (SelfAttention if kind == "self" else CrossAttention)(32, attend)
    residual = PostNorm(32, Dropout(0.3, randomness))
    plain, plain_residual = copy.deepcopy((layer, residual))
    x, memory = numbers(4, 9, 32), numbers(4, 7, 32, seed=1)
    results = []
    for one, way in ((layer, residual), (plain, plain_residual)):
        way.dropout.randomness.begin(7)
        attended, _ = one(x, None) if kind == "self" else one(x, memory, None)
        result = way.leave(x, attended, one.output)
        result.square().sum().backward()
        results.append([result, *(parameter.grad for parameter in (*one.parameters(), *way.parameters()))])
        without_kernels(monkeypatch)
        assert not suits(x)
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
