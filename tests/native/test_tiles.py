"""Products in a processor's tiles (AMX) are of float32, at least as exact as a library's."""

import pytest
import torch
from test_multiply import matrix

from regard.native import forms
from regard.native.forms import Form, form_of_products
from regard.native.library import library
from regard.native.multiplying import multiply

pytestmark = pytest.mark.usefixtures("one_thread", "tiles")


@pytest.fixture
def tiles(only_form):
    return only_form(Form.TILES)


@pytest.mark.parametrize(("rows", "columns", "terms"), [(64, 128, 128), (256, 256, 256), (200, 90, 1025)])
@pytest.mark.parametrize("spread", [0.0, 3.0], ids=["like numbers", "numbers of many sizes"])
def test_are_at_least_as_exact_as_the_librarys(rows, columns, terms, spread):
    generator = torch.Generator().manual_seed(0)

    def numbers(*shape):
        return torch.randn(shape, generator=generator) * (spread * torch.randn(shape, generator=generator)).exp()

    left, right = numbers(rows, terms), numbers(terms, columns)
    exact = left.double() @ right.double()
    sizes = left.double().abs() @ right.double().abs()
    ours, theirs = (
        ((result.double() - exact) / sizes).pow(2).mean().sqrt().item()
        for result in (multiply(left, right, torch.zeros(rows, columns)), left @ right)
    )
    assert 0 < ours <= theirs


def test_lose_no_bit_of_a_factor_of_ordinary_size():
    numbers = matrix(70, 96, False, 1) * torch.logspace(-25, 30, 96)
    assert torch.equal(multiply(numbers, torch.eye(96), torch.zeros(70, 96)), numbers)
    assert torch.equal(multiply(torch.eye(70), numbers, torch.zeros(70, 96)), numbers)


@pytest.mark.parametrize("tiny", [1e-33, 1e-36, 1e-38])
def test_what_is_lost_of_tiny_factors_is_below_the_smallest_normal_number(tiny):
    numbers = matrix(70, 96, False, 1) * tiny
    result = multiply(numbers, torch.eye(96), torch.zeros(70, 96))
    assert (result.double() - numbers.double()).abs().max() < 2 * torch.finfo(torch.float32).tiny


@pytest.mark.parametrize("large", [3.4e38, float("inf"), float("-inf"), float("nan")])
def test_what_is_too_large_never_looks_like_a_number(large):
    numbers = torch.ones(40, 96)
    numbers[3, 5] = large
    result = multiply(numbers, torch.ones(96, 33), torch.zeros(40, 33))
    assert (~result.isfinite()).any(1).nonzero().flatten().tolist() == [3]


@pytest.fixture
def forms_found_again(monkeypatch):
    """Forgets what was found here, before and after."""
    monkeypatch.undo()
    forms._forms.cache_clear()
    yield
    forms._forms.cache_clear()


def test_can_be_left_unused(monkeypatch, forms_found_again):
    monkeypatch.setenv(forms.SWITCH, "0")
    assert form_of_products() is Form.FLOATS
    with forms.products_in_bf16():
        assert form_of_products() is (Form.PAIRS if library().takes_pairs() else Form.FLOATS)
    forms._forms.cache_clear()
    monkeypatch.delenv(forms.SWITCH)
    assert form_of_products() is Form.TILES
