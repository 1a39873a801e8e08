"""Muon equals a slow, obvious form of itself and torch's own; its state goes into a checkpoint and comes back."""

import copy

import pytest
import torch
from torch import nn

from regard.config import ModelConfig, TrainConfig
from regard.errors import RegardError
from regard.models import build_model
from regard.train.muon import Muon, orthogonal
from regard.train.optimiser import (
    build_optimiser,
    hidden_matrices,
    optimiser_state,
    restore_optimiser,
    set_learning_rate,
)
from regard.train.schedule import learning_rate

SETTINGS = TrainConfig(optimiser="muon", muon_learning_rate=0.02, weight_decay=0.1, learning_rate=1e-3, warmup_steps=10)


def small_model(**changes):
    sizes = dict(width=16, feed_forward=24, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.0)
    return build_model(ModelConfig(**{**sizes, **changes}), 30, 30, seed=1)


def give_gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def group_names(model, optimiser):
    """The names of the parameters in each group."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    return [{names[parameter] for parameter in group["params"]} for group in optimiser.param_groups]


@pytest.mark.parametrize("tie", ["three-way", "target", "none"])
@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_muon_has_the_matrices_inside_and_nothing_else(tie, activation):
    model = small_model(tie=tie, activation=activation, output_bias=True, positions="learned")
    muon, adam = group_names(model, build_optimiser(model, SETTINGS))
    every = {name for name, _ in model.named_parameters()}
    assert muon | adam == every
    assert not muon & adam
    inside = {name for name in every if name.startswith(("encoder.", "decoder."))}
    assert muon == {name for name in inside if name.endswith(".weight") and "norm" not in name}
    assert not any("embedding" in name or name.startswith("output") for name in muon)


def test_packed_matrices_are_known():
    model = small_model(activation="swiglu")
    names = {parameter: name for name, parameter in model.named_parameters()}
    packed = {names[weight].split(".")[-2]: count for weight, count in hidden_matrices(model).items() if count > 1}
    assert packed == {"query_key_value": 3, "key_value": 2, "gate_and_inner": 2}


def slow_step(weight, gradient, mean, rate, momentum=0.95, decay=0.1):
    """Muon's formulae for one matrix, by its singular values and in 64 bits; gives the new weight and mean."""
    weight, gradient, mean = weight.double(), gradient.double(), mean.double()
    mean = momentum * mean + (1 - momentum) * gradient
    ahead = momentum * mean + (1 - momentum) * gradient
    left, values, right = torch.linalg.svd(ahead, full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    size = 0.2 * max(weight.shape) ** 0.5
    return weight - rate * decay * weight - rate * size * left @ values.diag() @ right, mean


def test_steps_equal_the_slow_form():
    model = small_model(activation="swiglu")
    optimiser = build_optimiser(model, SETTINGS)
    parts = {
        weight: [(part.detach().clone(), torch.zeros_like(part)) for part in weight.chunk(count)]
        for weight, count in hidden_matrices(model).items()
    }
    for step in (1, 2, 3):
        rate = learning_rate(step, SETTINGS, width=16)
        give_gradients(model, seed=step)
        for weight, pairs in parts.items():
            gradients = weight.grad.chunk(len(pairs))
            parts[weight] = [
                slow_step(part, gradient, mean, rate=0.02 * step / 10)
                for (part, mean), gradient in zip(pairs, gradients, strict=True)
            ]
        set_learning_rate(optimiser, rate)
        optimiser.step()
    for weight, pairs in parts.items():
        expected = torch.cat([part for part, _ in pairs]).float()
        torch.testing.assert_close(weight.detach(), expected, atol=1e-5, rtol=1e-4)


def test_what_is_not_muons_is_adamws():
    model, other = small_model(), small_model()
    muon = build_optimiser(model, SETTINGS)
    adamw = build_optimiser(other, SETTINGS.model_copy(update={"optimiser": "adamw"}))
    for seed in (1, 2):
        for learner, optimiser in ((model, muon), (other, adamw)):
            give_gradients(learner, seed)
            set_learning_rate(optimiser, 1e-3)
            optimiser.step()
    _, left_to_adam = group_names(model, muon)
    expected = dict(other.named_parameters())
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, expected[name]) == (name in left_to_adam), name


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
def test_steps_equal_those_of_torch(monkeypatch):
    """torch's Muon, made to compute in 32 bits."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    generator = torch.Generator().manual_seed(0)
    ours = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((8, 8), (6, 12), (12, 6), (8, 8))]
    theirs = [nn.Parameter(weight.detach().clone()) for weight in ours]
    muon = Muon(dict.fromkeys(ours, 1), momentum=0.9, weight_decay=0.05)
    set_learning_rate(muon, 0.01)
    expected = torch.optim.Muon(theirs, lr=0.01, momentum=0.9, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        muon.step()
        expected.step()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("shape", [(32, 64), (64, 32), (48, 96)])
def test_updates_are_nearly_orthogonal_and_of_the_size_of_adams(shape):
    result = orthogonal(torch.randn(shape, generator=torch.Generator().manual_seed(0)))
    assert tuple(result.shape) == shape
    values = torch.linalg.svdvals(result)
    assert values.min() > 0.6
    assert values.max() < 1.25
    assert 0.2 * max(shape) ** 0.5 * result.square().mean().sqrt() == pytest.approx(0.2, rel=0.3)


def test_no_gradient_makes_no_step():
    assert torch.equal(orthogonal(torch.zeros(3, 4)), torch.zeros(3, 4))


@pytest.mark.parametrize("schedule", ["paper", "inverse-square-root", "cosine", "linear", "constant"])
def test_both_learning_rates_have_one_shape_and_their_own_peaks(schedule):
    settings = SETTINGS.model_copy(update={"schedule": schedule, "max_steps": 100})
    optimiser = build_optimiser(small_model(), settings)
    rates = []
    for step in range(1, 101):
        set_learning_rate(optimiser, learning_rate(step, settings, width=16))
        rates.append([group["lr"] for group in optimiser.param_groups])
    assert max(muon for muon, _ in rates) == pytest.approx(0.02)
    assert [muon / adam for muon, adam in rates] == pytest.approx([rates[0][0] / rates[0][1]] * 100)


def test_state_comes_back_to_the_bit():
    model = small_model()
    optimiser = build_optimiser(model, SETTINGS)

    def steps(learner, by, seeds):
        for seed in seeds:
            give_gradients(learner, seed)
            set_learning_rate(by, learning_rate(seed, SETTINGS, width=16))
            by.step()

    steps(model, optimiser, (1, 2, 3))
    saved = copy.deepcopy(optimiser_state(model, optimiser))
    assert {name.rpartition("/")[2] for name in saved} == {"momentum_buffer", "step", "exp_avg", "exp_avg_sq"}
    resumed = small_model()
    resumed.load_state_dict(copy.deepcopy(model.state_dict()))
    again = build_optimiser(resumed, SETTINGS)
    restore_optimiser(resumed, again, saved)
    steps(model, optimiser, (4, 5))
    steps(resumed, again, (4, 5))
    pairs = zip(model.parameters(), resumed.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    now, then = optimiser_state(model, optimiser), optimiser_state(resumed, again)
    assert now.keys() == then.keys()
    assert all(torch.equal(now[name], then[name]) for name in now)


def devices_of(optimiser) -> dict[str, str]:
    return {key: value.device.type for state in optimiser.state.values() for key, value in state.items()}


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_state_goes_to_the_device_of_its_parameter(name):
    """All of it, as torch does it, too; `meta` stands for a device that is not the CPU."""
    settings = SETTINGS.model_copy(update={"optimiser": name, "weight_decay": 0.0})
    model, elsewhere = small_model(tie="none"), small_model(tie="none").to("meta")
    first, other, of_torch = (build_optimiser(each, settings) for each in (model, elsewhere, elsewhere))
    give_gradients(model, seed=1)
    first.step()
    restore_optimiser(elsewhere, other, optimiser_state(model, first))
    of_torch.load_state_dict(first.state_dict())
    assert {"exp_avg", "exp_avg_sq", "step"} <= devices_of(other).keys()
    assert devices_of(other) == devices_of(of_torch) == dict.fromkeys(devices_of(first), "meta")


@pytest.mark.parametrize(("before", "after"), [("adam", "muon"), ("muon", "adam"), ("muon", "adamw")])
def test_a_run_does_not_go_on_with_another_kind_of_optimiser(before, after):
    def optimiser_for(model, name):
        decay = 0.0 if name == "adam" else 0.1
        return build_optimiser(model, SETTINGS.model_copy(update={"optimiser": name, "weight_decay": decay}))

    model = small_model()
    first = optimiser_for(model, before)
    give_gradients(model, seed=1)
    first.step()
    with pytest.raises(RegardError, match="run began with"):
        restore_optimiser(model, optimiser_for(model, after), optimiser_state(model, first))
