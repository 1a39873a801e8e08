"""A step of Muon in C equals the plain one."""

import pytest
import torch

from regard.native.muon import muon_step, suits_muon
from regard.train.muon import plain_step


@pytest.mark.parametrize("shape", [(128, 128), (128, 256), (256, 128), (16, 48), (80, 16), (144, 272)])
def test_a_step_in_c_equals_the_plain_one(shape, wide_form):
    generator = torch.Generator().manual_seed(0)
    weight, mean = (torch.randn(shape, generator=generator) for _ in range(2))
    plain, fast = (weight.clone(), mean.clone()), (weight.clone(), mean.clone())
    for _ in range(3):
        gradient = torch.randn(shape, generator=generator)
        if not suits_muon(fast[0], gradient, fast[1]):
            pytest.skip("there are no kernels for this processor")
        plain_step(plain[0], gradient, plain[1], 0.9, 0.99, 0.3)
        muon_step(fast[0], gradient, fast[1], 0.9, 0.99, 0.3)
    for expected, result in zip(plain, fast, strict=True):
        torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-4)
