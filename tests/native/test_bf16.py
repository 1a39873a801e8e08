"""Products in bfloat16, of pairs or in tiles, are those of rounded factors; a step with them is nearly one in fp32."""

from contextlib import nullcontext

import pytest
import torch
from test_multiply import ENDED_SIZES, SIZES, ended, matrix
from test_sublayers import apply, build, numbers
from tiny_world import write_tiny_corpus

from regard.config import ModelConfig
from regard.data.batches import collate
from regard.models import build_model
from regard.native.forms import Form, asked_for_bf16, products_in_bf16
from regard.native.multiplying import lay_out, multiply
from regard.native.muon import muon_step, suits_muon
from regard.pipeline import train_run
from regard.recipe import override_config
from regard.train import probe as probing
from regard.train.muon import Muon, plain_step
from regard.train.objective import Objective
from regard.train.precision import Precision, has_own_products
from regard.train.probe import Finding

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True, params=[Form.PAIRS, Form.ROUNDED_TILES], ids=lambda form: form.name)
def narrow_form(one_thread, only_form, request):
    """Everything here is tried in each form of bfloat16 that the processor has."""
    return only_form(request.param)


@pytest.mark.parametrize(("rows", "columns", "terms"), [*SIZES, (300, 90, 1025), (20, 70, 1), (18, 64, 513)])
@pytest.mark.parametrize("left_turned", [False, True])
@pytest.mark.parametrize("right_turned", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_equals_the_product_of_rounded_factors(rows, columns, terms, left_turned, right_turned, keep):
    left, right = matrix(rows, terms, left_turned, 1), matrix(terms, columns, right_turned, 2)
    result = matrix(rows, columns, False, 3).clone()
    expected = left.bfloat16().double() @ right.bfloat16().double() + (result.double() if keep else 0)
    with products_in_bf16():
        multiply(left, right, result, keep)
        again = multiply(left, lay_out(right), matrix(rows, columns, False, 3).clone(), keep)
    torch.testing.assert_close(result.double(), expected, atol=2e-6 * terms**0.5 * 4, rtol=1e-5)
    assert torch.equal(again, result)


@pytest.mark.parametrize(("rows", "columns", "terms"), ENDED_SIZES)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_bias_and_relu_stay_float32(rows, columns, terms, positive, keep, narrow_form):
    left, right = matrix(rows, terms, False, 1), matrix(terms, columns, False, 2)
    bias, before = matrix(1, columns, False, 3)[0], matrix(rows, columns, False, 4)
    result = ended(narrow_form, left, right, bias, before, keep, positive)
    expected = left.bfloat16().double() @ right.bfloat16().double() + bias.double() + (before.double() if keep else 0)
    expected = expected.clamp(min=0) if positive else expected
    torch.testing.assert_close(result.double(), expected, atol=2e-6 * terms**0.5 * 4, rtol=1e-5)


def test_a_factor_that_lies_neither_way():
    left, right = matrix(20, 60, False, 1)[:, ::2], matrix(60, 140, False, 2)[::2, ::2]
    with products_in_bf16():
        result = multiply(left, right, torch.zeros(20, 70))
    expected = left.bfloat16().double() @ right.bfloat16().double()
    torch.testing.assert_close(result.double(), expected, atol=1e-4, rtol=1e-5)


def test_writes_nothing_beside_a_part_of_a_matrix():
    whole = torch.zeros(20, 100)
    with products_in_bf16():
        multiply(torch.ones(12, 5), torch.ones(5, 70), whole[3:15, 10:80])
    assert bool((whole[3:15, 10:80] == 5).all())
    assert float(whole.sum()) == 5 * 12 * 70


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_a_number_stays_so(number):
    left = torch.ones(8, 40)
    left[2, 39] = number
    with products_in_bf16():
        result = multiply(left, torch.ones(40, 70), torch.zeros(8, 70))
    assert (~result.isfinite()).any(1).nonzero().flatten().tolist() == [2]


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_does_not_depend_on_its_neighbours(turned):
    left, right = matrix(63, 300, turned, 1), matrix(300, 128, False, 2)
    with products_in_bf16():
        together = multiply(left, right, torch.zeros(63, 128))
        alone = [multiply(row[None], right, torch.zeros(1, 128)) for row in left]
    assert torch.equal(together, torch.cat(alone))


def test_what_was_laid_out_in_bf16_stays_so():
    left, right = matrix(7, 30, False, 1), matrix(30, 70, False, 2)
    with products_in_bf16():
        laid_out, expected = lay_out(right), multiply(left, right, torch.zeros(7, 70))
        assert asked_for_bf16()
    assert not asked_for_bf16()
    assert torch.equal(multiply(left, laid_out, torch.zeros(7, 70)), expected)
    assert not torch.equal(multiply(left, right, torch.zeros(7, 70)), expected)


@pytest.mark.parametrize("shape", [(128, 128), (128, 256), (256, 128), (144, 272)])
def test_a_step_of_muon_is_nearly_that_of_fp32(shape):
    generator = torch.Generator().manual_seed(0)
    weight, mean, gradient = (torch.randn(shape, generator=generator) for _ in range(3))
    plain, fast = (weight.clone(), mean.clone()), (weight.clone(), mean.clone())
    assert suits_muon(fast[0], gradient, fast[1])
    plain_step(plain[0], gradient, plain[1], 0.9, 0.99, 1.0)
    with products_in_bf16():
        muon_step(fast[0], gradient, fast[1], 0.9, 0.99, 1.0)
    torch.testing.assert_close(fast[1], plain[1], atol=1e-6, rtol=1e-5)
    change, exact = fast[0] - 0.99 * weight, plain[0] - 0.99 * weight
    assert 0 < (change - exact).norm() < 0.02 * exact.norm()


def gradients_of_sublayer(kind, form_forward, form_back):
    """What a sub-layer makes, and its gradients by x, memory and weights."""
    modules = build(kind, 0.0, width=64, inner=96)
    x, memory = (numbers(20, 16, 64, seed=seed).requires_grad_() for seed in (1, 2))
    torch.manual_seed(4)
    for parameter in modules.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    with nullcontext() if form_forward is Form.FLOATS else products_in_bf16():
        result = apply(kind, modules, x, memory, None)
    assert result.grad_fn.form == form_forward
    result.grad_fn.form = form_back
    (result * numbers(*result.shape, seed=5)).sum().backward()
    weights = {name: parameter.grad for name, parameter in modules.named_parameters() if parameter.dim() > 1}
    return result, {"x": x.grad, **({"memory": memory.grad} if kind == "cross" else {}), **weights}


@pytest.mark.parametrize("kind", ["self", "rotary", "cross", "feed-forward"])
def test_sublayers_take_bf16_forward_and_back(kind, narrow_form):
    wide = Form.FLOATS
    given = ((wide, wide), (narrow_form, narrow_form), (narrow_form, wide))
    exact, narrow, half = (gradients_of_sublayer(kind, *forms) for forms in given)
    assert not torch.equal(narrow[0], exact[0])
    for name, value in narrow[1].items():
        assert 0 < (value - exact[1][name]).norm() < 0.05 * exact[1][name].norm(), name
        assert not torch.equal(value, half[1][name]), f"{name}: in bf16 where the forward pass was"


SIZES_OF_MODELS = {"architecture": "transformer", "width": 64, "feed_forward": 128, "heads": 2, "dropout": 0.1}


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_gradients_of_a_step_are_nearly_those_of_fp32(norm, positions):
    config = ModelConfig(**SIZES_OF_MODELS, encoder_layers=2, decoder_layers=2, norm=norm, positions=positions)
    objective = Objective(build_model(config, 300, 300, seed=1), smoothing=0.1)
    generator = torch.Generator().manual_seed(0)
    sources, targets = (torch.randint(4, 300, (40, 11), generator=generator).tolist() for _ in range(2))
    batch = collate(sources, targets, range(40))
    losses, gradients = {}, {}
    for precision in (Precision("fp32"), Precision("bf16", own=True)):
        objective.zero_grad()
        objective.model.randomness.begin(0)
        with precision.autocast():
            loss = objective(batch)
        precision.backward(loss.total)
        losses[precision.name] = loss.total.item() / loss.tokens
        gradients[precision.name] = torch.cat([each.grad.flatten() for each in objective.parameters()])
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=1e-3)
    assert losses["bf16"] != losses["fp32"]
    difference = (gradients["bf16"] - gradients["fp32"]).norm() / gradients["fp32"].norm()
    assert 0 < difference < 0.04  # that of autocast in torch is 0.017 to 0.026 here


def test_bf16_takes_our_own_products_and_leaves_autocast_alone():
    with Precision("bf16", own=True).autocast():
        assert asked_for_bf16()
        assert not torch.is_autocast_enabled("cpu")
    with Precision("bf16", own=True).stepping():
        assert asked_for_bf16()
    for precision in (Precision("fp32"), Precision("fp16"), Precision("bf16")):
        with precision.autocast(), precision.stepping():
            assert not asked_for_bf16()


@pytest.mark.parametrize(
    ("other", "own"),
    [
        ({}, True),
        ({"activation": "gelu"}, False),
        ({"attention_dropout": 0.1}, False),
        ({"score": "additive"}, False),
        ({"width": 40}, False),
    ],
)
def test_models_of_the_paper_have_our_own_products(other, own):
    model = ModelConfig(**{**SIZES_OF_MODELS, **other})
    assert has_own_products("bf16", torch.device("cpu"), model) == own
    assert not has_own_products("fp16", torch.device("cpu"), model)
    assert not has_own_products("bf16", torch.device("cuda"), model)
    torch.set_num_threads(2)
    assert not has_own_products("bf16", torch.device("cpu"), model)


def test_a_run_has_our_own_products_in_passes_and_steps_and_says_so(tmp_path, monkeypatch):
    asked = {"pass": [], "step": []}
    passed, stepped = Objective.forward, Muon.step
    monkeypatch.setattr(Objective, "forward", lambda *given: asked["pass"].append(asked_for_bf16()) or passed(*given))
    monkeypatch.setattr(Muon, "step", lambda self: asked["step"].append(asked_for_bf16()) or stepped(self))
    monkeypatch.setattr(probing, "probe", lambda trial: Finding(True, trial["own"], "it was tried"))
    notes = []
    monkeypatch.setattr(probing, "note", notes.append)
    settings = ["train.optimiser=muon", "train.precision=bf16", "train.threads=1", "train.processes=1", "model.heads=1"]
    sizes = ["model.width=32", "model.feed_forward=32", "train.max_steps=3"]
    train_run(override_config(write_tiny_corpus(tmp_path / "corpus"), [*settings, *sizes]), tmp_path / "run")
    assert asked == {"pass": [True] * 3, "step": [True] * 3}
    assert notes == ["training in bf16 by products of our own: bf16 was asked for, and it was tried"]
