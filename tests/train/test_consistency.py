"""Two passes that must agree: the chunked loss equals autograd; runs resume, accumulate and divide exactly."""

import pytest
import torch
from narrow_child import assert_says
from tiny_world import write_tiny_corpus
from torch.nn import functional as F
from two_logits import a_batch, a_model, assert_ends_as, assert_two_learn_as_one, leaves, training_lines

from regard import pipeline
from regard.errors import ConfigError
from regard.native import library as native
from regard.native.rows import consistent_gradients_
from regard.pipeline import train_run
from regard.recipe import override_config, parse_config
from regard.train import consistency, output_layer
from regard.train.consistency import consistent_cross_entropy
from regard.train.objective import Objective, batch_loss


def reference(features, weight, bias, targets, smoothing, strength):
    """The loss as its formula says, for autograd: total, smoothed cross-entropy, likelihood, divergence."""
    first, second = F.linear(features, weight, bias).view(len(targets), 2, -1).log_softmax(-1).unbind(1)
    sides = (first, second)

    def entropy(ε):
        return sum(F.cross_entropy(side, targets, reduction="sum", label_smoothing=ε) for side in sides) / 2

    there = F.kl_div(second, first, reduction="sum", log_target=True)
    back = F.kl_div(first, second, reduction="sum", log_target=True)
    divergence = (there + back) / 2
    return entropy(smoothing) + strength * divergence, entropy(smoothing), entropy(0.0), divergence


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("strength", [0.5, 5.0])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_tokens", [1, 7, 1000])
def test_equals_autograd(smoothing, strength, with_bias, chunk_tokens, monkeypatch):
    tensors, targets = leaves(with_bias=with_bias)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_tokens * len(tensors[1]))
    ours = consistent_cross_entropy(*tensors, targets, smoothing, strength)
    theirs = reference(*tensors, targets, smoothing, strength)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    parameters = [tensor for tensor in tensors if tensor is not None]
    for factor in (1.0, 0.25):
        got, wanted = (
            torch.autograd.grad(value[0] * factor, parameters, retain_graph=True) for value in (ours, theirs)
        )
        for one, other in zip(got, wanted, strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("with_bias", [True, False])
def test_the_narrow_form_equals_autograd_where_nothing_is_narrow(with_bias, monkeypatch):
    tensors, targets = leaves(with_bias=with_bias)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 8 * len(tensors[1]))
    ours = consistency._ConsistentCrossEntropy.apply(*tensors, targets, 0.1, 2.0, torch.float64)
    theirs = reference(*tensors, targets, 0.1, 2.0)
    parameters = [tensor for tensor in tensors if tensor is not None]
    got, wanted = (torch.autograd.grad(value[0], parameters) for value in (ours, theirs))
    for one, other in zip((*ours, *got), (*theirs, *wanted), strict=True):
        torch.testing.assert_close(one, other)


IN_A_CHILD = """
import torch
from regard.train.consistency import consistent_cross_entropy
from test_consistency import reference
from two_logits import leaves

for dtype, tolerance in ((torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
    tensors, targets = leaves(tokens=64, vocabulary=4000, dtype=torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        losses = consistent_cross_entropy(*tensors, targets, 0.1, 5.0)
    expected = reference(*tensors, targets, 0.1, 5.0)
    torch.testing.assert_close(losses[0], expected[0], rtol=1e-2, atol=0)
    for ours, theirs in zip(*(torch.autograd.grad(value[0], tensors) for value in (losses, expected))):
        assert ours.dtype is torch.float32
        assert not torch.equal(ours, theirs)
        assert (ours - theirs).norm() < tolerance * theirs.norm()
print("near")
"""


def test_is_near_autograd_where_products_are_narrow():
    assert_says("near", IN_A_CHILD)


@pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")
@pytest.mark.parametrize("vocabulary", [16, 101, 4000])
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_the_kernel_is_as_exact_as_torch(vocabulary, scale, monkeypatch):
    exact, targets = leaves(tokens=64, vocabulary=vocabulary, with_bias=False, scale=scale)
    wanted = torch.autograd.grad(reference(*exact, targets, 0.1, 2.5)[0], exact[:2])
    single, _ = leaves(tokens=64, vocabulary=vocabulary, with_bias=False, scale=scale, dtype=torch.float32)
    theirs = torch.autograd.grad(reference(*single, targets, 0.1, 2.5)[0], single[:2])
    losses = consistent_cross_entropy(*single, targets, 0.1, 2.5)
    for one, other in zip(losses, reference(*exact, targets, 0.1, 2.5), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)
    for truth, one, other in zip(wanted, torch.autograd.grad(losses[0], single[:2]), theirs, strict=True):
        assert (one - truth).abs().max() <= 3 * (other - truth).abs().max()


@pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [5, 32, 77])
def test_kernel_and_torch_give_the_same(threads, width, monkeypatch):
    logits = torch.randn(9, 2, width, generator=torch.Generator().manual_seed(0)) * 3
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    fast = logits.clone()
    of_kernel = consistent_gradients_(fast, 2.0, 0.01)
    torch.set_num_threads(before)
    monkeypatch.setattr("regard.native.rows.takes", lambda _: False)
    slow = logits.clone()
    for one, other in zip((fast, *of_kernel), (slow, *consistent_gradients_(slow, 2.0, 0.01)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_a_number_that_is_not_finite_shows():
    logits = torch.zeros(2, 2, 40)
    logits[1, 1, 38] = torch.nan
    normalisers, divergences = consistent_gradients_(logits, 1.0, 0.0)
    assert normalisers.isnan().any(1).tolist() == divergences.isnan().tolist() == [False, True]


def gradients_of(model, strength, parts=1):
    """The gradients of a batch, in one pass or part by part, and the sums of its losses."""
    objective, sums, counted = Objective(model.train(), 0.1, strength), torch.zeros(3), 0
    model.zero_grad()
    for number in range(parts):
        part = a_batch().part(number, parts)
        batch = part.twice()
        model.randomness.begin(5, 0, first_row=batch.first_row, rows_in_all=batch.rows_in_all)
        loss = objective(batch)
        loss.total.backward()
        sums += torch.stack([loss.smoothed, loss.negative_log_likelihood, loss.divergence])
        counted += loss.tokens
        assert loss.tokens == batch.tokens == part.tokens
    return {name: parameter.grad for name, parameter in model.named_parameters()}, sums, counted


def test_parts_of_a_batch_draw_the_dropout_of_the_whole():
    whole, sums, tokens = gradients_of(a_model(), 2.0)
    parts, part_sums, part_tokens = gradients_of(a_model(), 2.0, parts=3)
    assert tokens == part_tokens == a_batch().tokens
    assert sums[2] > 0
    torch.testing.assert_close(part_sums, sums)
    for name, gradient in whole.items():
        torch.testing.assert_close(parts[name], gradient, atol=1e-5, rtol=1e-5)


def test_without_dropout_the_passes_agree_and_the_loss_is_the_plain_one():
    model = a_model(dropout=0.0)
    gradients, sums, _ = gradients_of(model, 5.0)
    model.zero_grad()
    plain = batch_loss(model, a_batch(), 0.1)
    plain.total.backward()
    torch.testing.assert_close(sums[0], plain.smoothed.detach())
    assert sums[2].abs() < 1e-4
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, atol=1e-5, rtol=1e-4)


def test_consistency_without_dropout_is_refused():
    with pytest.raises(ConfigError, match="differ by dropout alone"):
        parse_config({"model": {"dropout": 0.0}, "train": {"consistency": 1.0}})
    assert parse_config({"model": {"dropout": 0.0, "word_dropout": 0.1}, "train": {"consistency": 1.0}})


def test_all_steps_are_of_one_pass_where_there_is_no_consistency():
    assert parse_config({"train": {"consistency_after": 10, "max_steps": 100}}).train.steps_of_one_pass == 100
    settings = parse_config({"train": {"consistency": 1.0, "consistency_after": 10, "max_steps": 100}}).train
    assert settings.steps_of_one_pass == 10


SETTINGS = ("model.dropout=0.2", "train.consistency=2.0", "train.accumulate=2", "train.batch_tokens=300")


def test_a_run_logs_both_parts_and_resumes_to_the_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), SETTINGS)
    result = train_run(config, tmp_path / "whole")
    single = train_run(override_config(config, ["train.consistency=0.0"]), tmp_path / "single")
    assert result.outcome.tokens == single.outcome.tokens
    lines = training_lines(tmp_path / "whole")
    assert all(line["consistency"] > 0 for line in lines)
    assert "consistency" not in training_lines(tmp_path / "single")[0]
    assert lines[0]["loss"] == pytest.approx(training_lines(tmp_path / "single")[0]["loss"], rel=0.1)
    assert_ends_as(tmp_path / "whole", config, tmp_path / "killed", monkeypatch)


@pytest.mark.slow
def test_two_processes_learn_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), [*SETTINGS, "train.log_every=1"])
    assert_two_learn_as_one(config, tmp_path, "consistency")


def test_a_run_begins_with_one_pass_and_goes_on_with_two(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), [*SETTINGS, "train.log_every=5"])
    settings = {"later": ["train.consistency_after=10"], "never": ["train.consistency=0.0"]}
    for name, keys in settings.items():
        train_run(override_config(config, keys), tmp_path / name)
    later, never = (training_lines(tmp_path / name) for name in settings)
    assert ["consistency" in line for line in later] == [line["step"] > 10 for line in later]
    assert later[-1]["step"] > 10
    for mine, plain in zip(later, never, strict=True):
        assert (mine["loss"] == plain["loss"]) == (mine["step"] <= 10)
