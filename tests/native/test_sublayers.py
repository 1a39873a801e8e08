"""Whole sub-layers in C give the values and gradients of the plain modules; and the model's path takes them."""

import copy

import pytest
import torch

from regard.native import library as native
from regard.native import sublayers as native_sublayers
from regard.native.sublayers import CHUNK_ROWS, suits_sublayer
from regard.nn import sublayers
from regard.nn.attention import CrossAttention, SelfAttention
from regard.nn.feed_forward import FeedForward, build_feed_forward
from regard.nn.masks import causal, padding_mask, pattern_mask
from regard.nn.positions import Rotation
from regard.nn.randomness import Dropout, Randomness
from regard.nn.residual import PostNorm, PreNorm
from regard.nn.scores import ScaledDot

pytestmark = [
    pytest.mark.skipif(
        native.library() is None or native.matrix_product() is None, reason=f"no kernels here: {native.why_not()}"
    ),
    pytest.mark.usefixtures("wide_form"),
]

WIDTH = 32


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def build(kind, dropout, norm=PostNorm, width=WIDTH, inner=48):
    randomness = Randomness()
    attend = ScaledDot(width // 16, 16, Dropout(0.0, randomness))
    layers = {
        "self": lambda: SelfAttention(width, attend),
        "rotary": lambda: SelfAttention(width, attend, Rotation(16)),
        "cross": lambda: CrossAttention(width, attend),
        "feed-forward": lambda: build_feed_forward(width, inner, "relu", Dropout(0.0, randomness)),
    }
    modules = torch.nn.ModuleList([layers[kind](), norm(width, Dropout(dropout, randomness))])
    for parameter in modules.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return modules


def apply(kind, modules, x, memory, mask):
    layer, residual = modules
    residual.dropout.randomness.begin(3)
    if kind in ("self", "rotary"):
        return sublayers.attend_to_self(layer, residual, x, mask, False)[0]
    if kind == "cross":
        return sublayers.attend_to_memory(layer, residual, x, memory, mask, False)[0]
    return sublayers.transform(layer, residual, x)


SHAPES = [(1, 1), (3, 7), (CHUNK_ROWS // 16 + 3, 16), (2, 64)]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize(("sentences", "length"), SHAPES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["self", "rotary", "cross", "feed-forward"])
@pytest.mark.parametrize("norm", [PostNorm, PreNorm])
def test_equals_the_plain_modules(norm, kind, masked, sentences, length, dropout, monkeypatch):
    source = max(1, length - 2)
    mask = None
    if masked:
        real = torch.arange(source) <= torch.arange(sentences)[:, None]
        mask = pattern_mask(causal, length, length) if kind in ("self", "rotary") else padding_mask(real)
    assert_equals_the_plain_modules(kind, build(kind, dropout, norm), sentences, (length, source), mask, monkeypatch)


@pytest.mark.parametrize("kind", ["self", "cross", "feed-forward"])
@pytest.mark.parametrize("width", [80, 192])
def test_widths_of_more_than_a_panel(kind, width, monkeypatch):
    """With gradients of so many outputs (528, 576) that their factor is packed."""
    modules = build(kind, 0.0, PreNorm, width, 528)
    assert_equals_the_plain_modules(kind, modules, CHUNK_ROWS // 16 + 3, (16, 9), None, monkeypatch)


def assert_equals_the_plain_modules(kind, modules, sentences, lengths, mask, monkeypatch):
    plain = copy.deepcopy(modules)
    width = modules[1].norm.normalized_shape[0]
    assert suits_sublayer(numbers(sentences, lengths[0], width), 48)
    results = []
    for which in (modules, plain):
        x, memory = (numbers(sentences, size, width, seed=size).requires_grad_() for size in lengths)
        result = apply(kind, which, x, memory, mask)
        (result * numbers(*result.shape, seed=5)).sum().backward()
        gradients = {name: parameter.grad for name, parameter in which.named_parameters()}
        results.append({"result": result, "x": x.grad, "memory": memory.grad, **gradients})
        monkeypatch.setattr(native, "library", lambda: None)
    for name, value in results[0].items():
        torch.testing.assert_close(
            value, results[1][name], atol=5e-4, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("kind", ["self", "cross", "feed-forward"])
def test_products_of_the_library_give_the_same(kind, monkeypatch):
    """Where our own products are not the faster ones, the library's take their place."""
    results = []
    for fast in (True, False):
        monkeypatch.setattr(native_sublayers, "multiplies_fast", lambda fast=fast: fast)
        modules = build(kind, 0.0)
        x, memory = (numbers(20, 16, WIDTH, seed=seed).requires_grad_() for seed in (1, 2))
        torch.manual_seed(4)
        for parameter in modules.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
        result = apply(kind, modules, x, memory, None)
        (result * numbers(*result.shape, seed=5)).sum().backward()
        results.append([result, x.grad, *(parameter.grad for parameter in modules.parameters())])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=5e-4, rtol=1e-4)


@pytest.mark.parametrize("norm", [PostNorm, PreNorm])
def test_chunks_change_no_row(norm):
    """Sentences give the same whether they come alone or after others."""
    modules = build("self", 0.0, norm)
    x = numbers(CHUNK_ROWS // 16 + 5, 16, WIDTH)
    with torch.no_grad():
        together = apply("self", modules, x, None, None)
        alone = torch.cat([apply("self", modules, row[None], None, None) for row in x])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_what_has_no_form_in_c_takes_the_plain_way():
    randomness = Randomness()
    x = numbers(2, 5, WIDTH)
    network = FeedForward(WIDTH, 48, "gelu", Dropout(0.0, randomness))
    residual = PreNorm(WIDTH, Dropout(0.0, randomness))
    expected = x + network.outer(torch.nn.functional.gelu(network.inner(residual.norm(x))))
    torch.testing.assert_close(sublayers.transform(network, residual, x), expected)
    torch.set_num_threads(2)
    assert not suits_sublayer(x)
