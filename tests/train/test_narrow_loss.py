"""The loss in low precision is that of torch: exactly where nothing is narrow, nearly where it is."""

import pytest
import torch
from narrow_child import assert_says
from torch.nn import functional as F

from regard.train import output_layer
from regard.train.narrow_loss import narrow_cross_entropy
from regard.train.output_layer import magnification


def leaves(with_bias=True, rows=37, vocabulary=101, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(rows, 16, generator=generator, dtype=dtype).requires_grad_()
    weight = (torch.randn(vocabulary, 16, generator=generator, dtype=dtype) / 4).requires_grad_()
    bias = torch.randn(vocabulary, generator=generator, dtype=dtype).requires_grad_() if with_bias else None
    targets = torch.randint(vocabulary, (rows,), generator=generator)
    return features, weight, bias, targets


def reference(features, weight, bias, targets, smoothing):
    return F.cross_entropy(F.linear(features, weight, bias), targets, reduction="sum", label_smoothing=smoothing)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_rows", [1, 10, 1000])
def test_equals_torch_where_nothing_is_narrow(with_bias, chunk_rows, monkeypatch):
    features, weight, bias, targets = leaves(with_bias)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_rows * len(weight))
    loss, likelihood = narrow_cross_entropy(features, weight, bias, targets, 0.1, torch.float64)
    expected = reference(features, weight, bias, targets, 0.1)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(likelihood, reference(features, weight, bias, targets, 0.0))
    parameters = [tensor for tensor in (features, weight, bias) if tensor is not None]
    got, wanted = (torch.autograd.grad(value * 0.25, parameters) for value in (loss, expected))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("rows", "magnified"), [(1, 1024), (8, 1024), (16, 512), (512, 16), (5000, 1), (100_000, 1)])
def test_gradients_are_magnified_as_far_as_their_sums_allow(rows, magnified):
    assert magnification(rows) == magnified


IN_A_CHILD = """
import torch
from regard.train.objective import smoothed_cross_entropy
from test_narrow_loss import leaves, reference

for dtype, tolerance in ((torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
    features, weight, bias, targets = leaves(rows=64, vocabulary=4000, dtype=torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        loss, _ = smoothed_cross_entropy(features, weight, bias, targets, 0.1)
    expected = reference(features, weight, bias, targets, 0.1)
    assert loss.dtype is torch.float32
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=0)
    for ours, theirs in zip(*(torch.autograd.grad(value, (features, weight, bias)) for value in (loss, expected))):
        assert ours.dtype is torch.float32
        assert not torch.equal(ours, theirs)
        assert (ours - theirs).norm() < tolerance * theirs.norm()
print("near")
"""


def test_is_near_torch_where_products_are_narrow():
    assert_says("near", IN_A_CHILD)
