"""Products of our own give torch's, for factors that lie any way and results of any size."""

import pytest
import torch

from regard.native import library as native
from regard.native.multiplying import lay_out, multiply

pytestmark = [
    pytest.mark.skipif(not native.multiplies_fast(), reason="our own products are not the faster ones here"),
    pytest.mark.usefixtures("wide_form"),
]

SIZES = [
    *((1, 1, 1), (6, 64, 256), (7, 65, 257), (256, 128, 128), (13, 640, 30), (100, 100, 1000), (31, 17, 600)),
    *(
        (8, 16, 256),
        (9, 48, 300),
        (56, 32, 40),
        (57, 31, 513),
        (129, 80, 256),
        (520, 33, 300),
        (520, 200, 300),
        (600, 130, 20),
        (300, 545, 300),
        (100, 600, 300),
    ),
]
"""Rows, columns, terms: whole blocks, and every kind of rest; more rows, columns or terms than are packed at a time."""


def matrix(rows, columns, turned, seed):
    numbers = torch.randn(rows * columns, generator=torch.Generator().manual_seed(seed))
    return numbers.view(columns, rows).t() if turned else numbers.view(rows, columns)


@pytest.mark.parametrize(("rows", "columns", "terms"), SIZES)
@pytest.mark.parametrize("left_turned", [False, True])
@pytest.mark.parametrize("right_turned", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_equals_torch(rows, columns, terms, left_turned, right_turned, keep):
    left, right = matrix(rows, terms, left_turned, 1), matrix(terms, columns, right_turned, 2)
    result = matrix(rows, columns, False, 3).clone()
    expected = left.double() @ right.double() + (result.double() if keep else 0)
    given = multiply(left, right, result, keep)
    assert given is result
    torch.testing.assert_close(result.double(), expected, atol=2e-6 * terms**0.5 * 4, rtol=1e-5)
    again = multiply(left, lay_out(right), matrix(rows, columns, False, 3).clone(), keep)
    assert torch.equal(again, result)


def ended(form, left, right, bias, before, keep, positive):
    """The product in a form, added to what was there or not, plus the bias, and above zero if it must be."""
    result = before.clone()
    ending = native.EndingStructure(keep, positive, bias.data_ptr())
    factors = [native.FactorStructure(factor.data_ptr(), *factor.stride(), 0, form) for factor in (left, right)]
    rows, columns = result.shape
    native.loaded().multiply_matrices(rows, columns, len(right), *factors, ending, result.data_ptr(), columns)
    return result


ENDED_SIZES = [(6, 64, 30), (8, 80, 256), (20, 70, 600)]


@pytest.mark.parametrize(("rows", "columns", "terms"), ENDED_SIZES)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_bias_and_relu_come_after_the_last_term(rows, columns, terms, positive, keep, wide_form):
    left, right = matrix(rows, terms, False, 1), matrix(terms, columns, False, 2)
    bias, before = matrix(1, columns, False, 3)[0], matrix(rows, columns, False, 4)
    result = ended(wide_form, left, right, bias, before, keep, positive)
    expected = left.double() @ right.double() + bias.double() + (before.double() if keep else 0)
    expected = expected.clamp(min=0) if positive else expected
    torch.testing.assert_close(result.double(), expected, atol=2e-6 * terms**0.5 * 4, rtol=1e-5)


@pytest.mark.parametrize("is_laid_out", [False, True])
def test_a_factor_that_lies_neither_way(is_laid_out):
    left, right = matrix(70, 600, False, 1)[:, ::2], matrix(600, 140, False, 2)[::2, ::2]
    result = multiply(left, lay_out(right) if is_laid_out else right, torch.zeros(70, 70))
    torch.testing.assert_close(result.double(), left.double() @ right.double(), atol=1e-4, rtol=1e-5)


def test_writes_nothing_beside_a_part_of_a_matrix():
    whole = torch.zeros(20, 100)
    part = whole[3:15, 10:80]
    multiply(torch.ones(12, 5), torch.ones(5, 70), part)
    assert bool((part == 5).all())
    assert float(whole.sum()) == 5 * 12 * 70


def test_what_is_not_a_number_stays_so():
    left = torch.ones(8, 40)
    left[2, 39] = float("nan")
    result = multiply(left, torch.ones(40, 70), torch.zeros(8, 70))
    assert result.isnan().any(1).nonzero().flatten().tolist() == [2]


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_does_not_depend_on_its_neighbours(turned):
    left, right = matrix(63, 300, turned, 1), matrix(300, 128, False, 2)
    together = multiply(left, right, torch.zeros(63, 128))
    alone = [multiply(row[None], right, torch.zeros(1, 128)) for row in left]
    assert torch.equal(together, torch.cat(alone))


def test_several_threads_and_empty_matrices_are_left_to_torch():
    left, right = matrix(4, 5, False, 1), matrix(5, 6, False, 2)
    torch.set_num_threads(2)
    assert torch.equal(multiply(left, right, torch.zeros(4, 6)), left @ right)
    assert torch.equal(multiply(left, lay_out(right), torch.zeros(4, 6)), left @ right)
    torch.set_num_threads(1)
    assert multiply(left[:0], right, torch.zeros(0, 6)).shape == (0, 6)
