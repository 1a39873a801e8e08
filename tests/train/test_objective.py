"""The chunked loss equals torch's cross_entropy, values and gradients."""

import pytest
import torch
from torch.nn import functional as F

from regard.train import objective
from regard.train.objective import smoothed_cross_entropy


def reference(features, weight, bias, targets, smoothing):
    logits = F.linear(features, weight, bias)
    return F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)


def leaves(rows=37, width=16, vocabulary=101, with_bias=True, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(rows, width, generator=generator, dtype=torch.float64) * scale
    weight = torch.randn(vocabulary, width, generator=generator, dtype=torch.float64)
    bias = torch.randn(vocabulary, generator=generator, dtype=torch.float64) if with_bias else None
    targets = torch.randint(vocabulary, (rows,), generator=generator)
    parameters = [tensor.requires_grad_() for tensor in (features, weight, bias) if tensor is not None]
    return features, weight, bias, targets, parameters


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_rows", [1, 10, 1000])
def test_equals_torch(smoothing, with_bias, chunk_rows, monkeypatch):
    features, weight, bias, targets, parameters = leaves(with_bias=with_bias)
    monkeypatch.setattr(objective, "CHUNK_ELEMENTS", chunk_rows * len(weight))
    loss, likelihood = smoothed_cross_entropy(features, weight, bias, targets, smoothing)
    expected = reference(features, weight, bias, targets, smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(likelihood, reference(features, weight, bias, targets, 0.0))
    for ours, theirs in zip(
        torch.autograd.grad(loss * 0.25, parameters), torch.autograd.grad(expected * 0.25, parameters), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_equals_torch_without_gradient():
    features, weight, bias, targets, _ = leaves()
    with torch.no_grad():
        loss, likelihood = smoothed_cross_entropy(features, weight, bias, targets, 0.1)
        torch.testing.assert_close(loss, reference(features, weight, bias, targets, 0.1))
        torch.testing.assert_close(likelihood, reference(features, weight, bias, targets, 0.0))


def test_is_exact_where_a_probability_vanishes():
    features, weight, bias, targets, _ = leaves(scale=100.0)
    features, weight, bias = (tensor.detach().float().requires_grad_() for tensor in (features, weight, bias))
    loss, _ = smoothed_cross_entropy(features, weight, bias, targets, 0.1)
    probabilities = F.linear(features, weight, bias).softmax(-1).gather(1, targets[:, None])
    assert (probabilities == 0).any(), "the case under test must arise"
    exact = [tensor.detach().double().requires_grad_() for tensor in (features, weight, bias)]
    expected = reference(*exact, targets, 0.1)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-6, atol=0.0)
    gradient, exact_gradient = torch.autograd.grad(loss, features)[0], torch.autograd.grad(expected, exact[0])[0]
    torch.testing.assert_close(gradient.double(), exact_gradient, rtol=1e-5, atol=1e-4)  # logits of hundreds


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_float32_gradients_are_as_exact_as_those_of_torch(scale):
    features, weight, _, targets, _ = leaves(rows=64, vocabulary=5000, with_bias=False, scale=scale)
    exact = torch.autograd.grad(reference(features, weight, None, targets, 0.1), (features, weight))
    features, weight = features.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    ours = torch.autograd.grad(smoothed_cross_entropy(features, weight, None, targets, 0.1)[0], (features, weight))
    theirs = torch.autograd.grad(reference(features, weight, None, targets, 0.1), (features, weight))
    for truth, one, other in zip(exact, ours, theirs, strict=True):
        assert (one - truth).abs().max() <= 2 * (other - truth).abs().max()
