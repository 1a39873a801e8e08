"""Positions are what their formulae say."""

import math

import torch

from regard.nn.positions import FixedPositions, Rotation, concatenated_sinusoids, sinusoids


def test_sinusoids_equal_the_formula_in_64_bit():
    length, width = 50, 128
    table = sinusoids(length, width)
    assert table.dtype == torch.float64
    for position in range(length):
        for i in range(width // 2):
            angle = position / 10000 ** (2 * i / width)
            assert math.isclose(table[position, 2 * i], math.sin(angle), abs_tol=1e-13)
            assert math.isclose(table[position, 2 * i + 1], math.cos(angle), abs_tol=1e-13)


def test_the_concatenated_form_has_the_same_waves():
    paper, halves = sinusoids(20, 64), concatenated_sinusoids(20, 64)
    assert torch.equal(halves[:, :32], paper[:, 0::2])
    assert torch.equal(halves[:, 32:], paper[:, 1::2])


def test_a_shift_is_a_linear_map():
    """Why the paper chose sinusoids: PE(pos + k) is the same linear function of PE(pos) at every pos."""
    table = sinusoids(100, 16)
    angles = 10 / 10_000 ** (torch.arange(0, 16, 2, dtype=table.dtype) / 16)
    shift = torch.block_diag(*(torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]]) for a in angles.double()))
    torch.testing.assert_close(table[:90] @ shift, table[10:], atol=1e-9, rtol=0)


def test_the_table_grows_with_the_sentence():
    positions = FixedPositions(8)
    x = torch.zeros(1, 3, 8)
    torch.testing.assert_close(positions(x, start=1000)[0], sinusoids(1003, 8)[1000:].float())


def test_rotation_makes_scores_depend_on_distance_alone():
    rotate = Rotation(16)
    query, key = torch.randn(1, 2, 1, 16), torch.randn(1, 2, 1, 16)
    scores = [(rotate(query, start=at + 3) * rotate(key, start=at)).sum(-1) for at in (0, 5, 40)]
    torch.testing.assert_close(scores[0], scores[1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(scores[0], scores[2], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(scores[0], (rotate(query, start=9) * rotate(key, start=0)).sum(-1))


def test_gradients_pass_through_rotation_after_inference():
    rotation = Rotation(8)
    with torch.inference_mode():
        rotation(torch.ones(1, 1, 5, 8))
    x = torch.ones(1, 1, 5, 8, requires_grad=True)
    rotation(x).sum().backward()
    torch.testing.assert_close(x.grad.norm(dim=-1), torch.full((1, 1, 5), 8**0.5))


def test_rotation_keeps_lengths():
    x = torch.randn(2, 2, 7, 16)
    torch.testing.assert_close(Rotation(16)(x, start=4).norm(dim=-1), x.norm(dim=-1))
