"""Learning from the moving average of one's own weights: the chunked loss equals autograd, and runs resume exactly."""

import pytest
import torch
from tiny_world import write_tiny_corpus
from torch.nn import functional as F
from two_logits import a_batch, a_model, assert_ends_as, assert_two_learn_as_one, leaves, training_lines

from regard import pipeline
from regard.errors import ConfigError
from regard.models.folder import model_weights
from regard.native import library as native
from regard.native.rows import taught_gradients_
from regard.pipeline import train_run
from regard.recipe import override_config, parse_config
from regard.train import output_layer
from regard.train.averaging import MovingAverage
from regard.train.objective import Objective, batch_loss
from regard.train.self_distillation import averaged_model
from regard.train.teaching import taught_cross_entropy


def reference(features, weight, bias, teacher, targets, smoothing, share):
    """The loss as its formula says, for autograd: total, smoothed cross-entropy, likelihood, divergence."""
    logits = F.linear(features, weight, bias)
    smoothed = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    taught = F.linear(*teacher).log_softmax(-1)
    divergence = F.kl_div(logits.log_softmax(-1), taught, reduction="sum", log_target=True)
    likelihood = F.cross_entropy(logits, targets, reduction="sum")
    return (1 - share) * smoothed + share * divergence, smoothed, likelihood, divergence


def pupil_and_teacher(tokens=19, **settings):
    """Parameters of a loss, those of a teacher, and targets."""
    (features, weight, bias), targets = leaves(tokens=tokens, **settings)
    pupil = [part.detach().requires_grad_() for part in (features[:tokens], weight) + (() if bias is None else (bias,))]
    teacher = (
        features[tokens:].detach(),
        (weight + 0.1 * weight.flip(0)).detach(),
        bias.detach() if len(pupil) > 2 else None,
    )
    return pupil, teacher, targets


def both_losses(pupil, teacher, targets, smoothing=0.1, share=0.4):
    """Ours and autograd's, and the gradients of each."""
    given = (*pupil, *([] if len(pupil) > 2 else [None]), teacher, targets, smoothing, share)
    ours, theirs = taught_cross_entropy(*given[:3], [given[3]], *given[4:]), reference(*given)
    return ours, theirs, *(torch.autograd.grad(value[0], pupil) for value in (ours, theirs))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_tokens", [1, 7, 1000])
def test_equals_autograd(smoothing, share, with_bias, chunk_tokens, monkeypatch):
    pupil, teacher, targets = pupil_and_teacher(with_bias=with_bias)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_tokens * len(pupil[1]))
    ours, theirs, got, wanted = both_losses(pupil, teacher, targets, smoothing, share)
    for one, other in zip((*ours, *got), (*theirs, *wanted), strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_are_scaled_as_the_loss_is():
    pupil, teacher, targets = pupil_and_teacher()
    whole, quarter = (
        torch.autograd.grad(taught_cross_entropy(*pupil, [teacher], targets, 0.1, 0.5)[0] * factor, pupil)
        for factor in (1.0, 0.25)
    )
    for one, other in zip(whole, quarter, strict=True):
        torch.testing.assert_close(one, 4 * other)


@pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [5, 32, 77, 4000])
def test_kernel_and_torch_give_the_same(threads, width, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    logits, taught = (torch.randn(9, width, generator=generator) * 3 for _ in range(2))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    fast = logits.clone()
    of_kernel = taught_gradients_(fast, taught.clone(), 0.4, 0.01)
    torch.set_num_threads(before)
    monkeypatch.setattr("regard.native.rows.takes", lambda _: False)
    slow = logits.clone()
    for one, other in zip((fast, *of_kernel), (slow, *taught_gradients_(slow, taught, 0.4, 0.01)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=2e-6)


def test_a_number_that_is_not_finite_shows():
    logits, taught = torch.zeros(3, 40), torch.zeros(3, 40)
    logits[1, 38] = taught[2, 39] = torch.nan
    normalisers, divergences = taught_gradients_(logits, taught, 0.5, 0.0)
    assert normalisers.isnan().tolist() == [False, True, False]
    assert divergences.isnan().tolist() == [False, True, True]


def test_the_averaged_model_changes_with_the_average():
    model = a_model()
    average = MovingAverage(model_weights(model), 0.5, warm=False)
    averaged = averaged_model(model, average)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    average.update(model_weights(model))
    now = dict(averaged.named_parameters())
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(now[name].data, parameter.data - 0.5)
    assert averaged.output.weight is averaged.target_embedding.table.weight  # what is one matrix stays one
    assert not averaged.training
    assert not any(parameter.requires_grad for parameter in averaged.parameters())


def test_a_teacher_that_is_the_model_itself_teaches_what_it_knows_already():
    model = a_model(dropout=0.0)
    average = MovingAverage(model_weights(model), 0.9)
    loss = Objective(model.train(), 0.1, share=0.25)(a_batch(), averaged_model(model, average))
    loss.total.backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    plain = batch_loss(model, a_batch(), 0.1)
    plain.total.backward()
    assert loss.tokens == plain.tokens
    assert loss.divergence.abs() < 1e-4
    torch.testing.assert_close(loss.smoothed, plain.smoothed.detach())
    for gradient, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, 0.75 * parameter.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"self_distillation": 0.5}, "set `train.ema`"),
        ({"self_distillation": 0.5, "ema": 0.99, "consistency": 1.0}, "do not go together"),
        ({"self_distillation": 0.5, "ema": 0.99, "shard": True}, "needs whole weights"),
        ({"self_distillation": 1.0, "ema": 0.99}, "less than 1"),
    ],
)
def test_what_cannot_be_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        parse_config({"train": settings})


SETTINGS = ("train.ema=0.9", "train.self_distillation=0.5", "train.accumulate=2", "train.batch_tokens=300")


def test_a_run_logs_how_far_it_is_from_its_average_and_resumes_to_the_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    settings = [*SETTINGS, "train.self_distillation_after=5", "train.log_every=5"]
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), settings)
    train_run(config, tmp_path / "whole")
    train_run(override_config(config, ["train.self_distillation=0.0"]), tmp_path / "plain")
    taught, plain = (training_lines(tmp_path / name) for name in ("whole", "plain"))
    assert ["self_distillation" in line for line in taught] == [line["step"] > 5 for line in taught]
    assert all(line["self_distillation"] > 0 for line in taught[1:])
    for mine, other in zip(taught, plain, strict=True):
        assert (mine["loss"] == other["loss"]) == (mine["step"] <= 5)
    assert_ends_as(tmp_path / "whole", config, tmp_path / "killed", monkeypatch)


@pytest.mark.slow
def test_two_processes_learn_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), [*SETTINGS, "train.log_every=1"])
    assert_two_learn_as_one(config, tmp_path, "self_distillation")
