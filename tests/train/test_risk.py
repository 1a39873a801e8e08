"""Minimum risk training: weights and gradients are those of the formula, and runs with it resume exactly."""

import math

import pytest
import torch
from killed_run import train_killed_at
from narrow_child import assert_says
from sacrebleu import sentence_bleu
from tiny_world import write_tiny_corpus
from torch.nn import functional as F
from two_logits import a_batch, a_model, leaves, training_lines

from regard import pipeline
from regard.candidates import candidates_of
from regard.config import TrainConfig
from regard.data.batches import FixedBatches
from regard.data.vocabulary import PAD_ID
from regard.errors import ConfigError
from regard.models.folder import load_model
from regard.pipeline import train_run
from regard.recipe import override_config, parse_config
from regard.search.scoring import token_log_probabilities
from regard.train import output_layer
from regard.train.objective import Objective
from regard.train.passes import Passes
from regard.train.risk import Candidate, weigh, weighted_likelihood
from regard.train.team import Team


def both_likelihoods(parameters, targets, weights):
    """Ours and autograd's, and the gradients of each."""
    features, weight, bias = parameters
    features = features[: len(targets)].detach().requires_grad_()
    given = [part for part in (features, weight, bias) if part is not None]
    ours = weighted_likelihood(features, weight, bias, targets, weights)
    log_probabilities = F.linear(features, weight, bias).log_softmax(-1)
    theirs = (weights * log_probabilities.gather(1, targets[:, None])[:, 0]).sum()
    return ours, theirs, *(torch.autograd.grad(value, given) for value in (ours, theirs))


def some_weights(tokens, dtype=torch.float64):
    return torch.randn(tokens, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_tokens", [1, 7, 1000])
def test_weighted_likelihood_equals_autograd(with_bias, chunk_tokens, monkeypatch):
    parameters, targets = leaves(with_bias=with_bias)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_tokens * len(parameters[1]))
    ours, theirs, got, wanted = both_likelihoods(parameters, targets, some_weights(len(targets)))
    for one, other in zip((ours, *got), (theirs, *wanted), strict=True):
        torch.testing.assert_close(one, other)


IN_A_CHILD = """
import torch
from test_risk import both_likelihoods, leaves, some_weights

for dtype, tolerance in ((torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
    parameters, targets = leaves(tokens=64, vocabulary=4000, dtype=torch.float32)
    weights = some_weights(len(targets), torch.float32)
    _, _, wanted, _ = both_likelihoods(parameters, targets, weights)
    with torch.autocast("cpu", dtype=dtype):
        _, _, got, _ = both_likelihoods(parameters, targets, weights)
    for ours, theirs in zip(got, wanted):
        assert ours.dtype is torch.float32
        assert not torch.equal(ours, theirs)
        assert (ours - theirs).norm() < tolerance * theirs.norm()
print("near")
"""


def test_weighted_likelihood_is_near_where_products_are_narrow():
    assert_says("near", IN_A_CHILD)


def made_up_candidates(model, batch, count=3):
    """Random tokens for each row, scored by the model as a search would, with made-up costs."""
    generator = torch.Generator().manual_seed(8)
    found = []
    for row, mask in zip(batch.source, batch.source_mask, strict=True):
        source = row[mask][:-1].tolist()
        targets = [torch.randint(4, 60, (1 + number,), generator=generator).tolist() for number in range(count)]
        with torch.no_grad():
            scores = token_log_probabilities(model, [source] * count, targets)
        costs = torch.rand(count, generator=generator).tolist()
        found.append([Candidate(*given) for given in zip(targets, map(sum, scores), costs, strict=True)])
    return found


def test_gradients_are_those_of_the_risk():
    model, batch = a_model(dropout=0.0).eval(), a_batch()
    found = made_up_candidates(model, batch)
    candidates = weigh(batch, found)
    objective = Objective(model, 0.1, risk=2.0)
    for made, weights in candidates.batches:
        objective(made, weights=weights).total.backward()
    got = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    risks, tokens = [], (batch.target_output != PAD_ID).sum(1)
    for row, own in enumerate(found):
        rows = torch.full((len(own),), row)
        made = batch.with_targets(rows, [candidate.tokens for candidate in own])
        logits = model.output(model.features(made.source, made.source_mask, made.target_input))
        likelihoods = F.cross_entropy(logits.flatten(0, 1), made.target_output.flatten(), reduction="none")
        scores = -(likelihoods.view_as(made.target_output) * (made.target_output != PAD_ID)).sum(1)
        shares = (scores / torch.tensor([len(one.tokens) + 1 for one in own])).softmax(0)
        risks.append(tokens[row] * (shares * torch.tensor([one.cost for one in own])).sum())
    (2.0 * sum(risks)).backward()
    assert candidates.risk == pytest.approx(float(sum(risks).detach()), rel=1e-5)
    for gradient, parameter in zip(got, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-5, rtol=1e-4)


def test_a_step_against_the_risk_lowers_it():
    model, batch = a_model(dropout=0.0).eval(), a_batch()
    found = made_up_candidates(model, batch)
    before = weigh(batch, found)
    objective = Objective(model, 0.1, risk=1.0)
    for made, weights in before.batches:
        objective(made, weights=weights).total.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(parameter.grad, alpha=0.05)
        for row, own in enumerate(found):
            source = batch.source[row][batch.source_mask[row]][:-1].tolist()
            scores = token_log_probabilities(model, [source] * len(own), [one.tokens for one in own])
            found[row] = [one._replace(log_probability=sum(score)) for one, score in zip(own, scores, strict=True)]
    assert weigh(batch, found).risk < before.risk


def test_what_all_cost_alike_or_nothing_was_found_for_is_left_out():
    batch = a_batch(rows=3)
    alike = [Candidate([5, 6], -1.0, 0.5), Candidate([7], -2.0, 0.5)]
    differ = [Candidate([5], -1.0, 0.0), Candidate([6], -1.0, 1.0)]
    candidates = weigh(batch, [alike, [], differ])
    length = int((batch.target_output[2] != PAD_ID).sum())
    ((made, weights),) = candidates.batches
    assert made.target_output.tolist() == [[5, 2], [6, 2]]
    assert weights.tolist() == [-length / 8, length / 8]
    lengths = (batch.target_output != PAD_ID).sum(1).tolist()
    assert candidates.risk == 0.5 * lengths[0] + lengths[1] + 0.5 * lengths[2]
    assert all(torch.equal(source, batch.source[2]) for source in made.source)


def test_no_batch_of_candidates_is_larger_than_the_batch_they_are_for():
    batch = a_batch(rows=6)
    found = [[Candidate([5] * (1 + 3 * number), -1.0, 0.2 * number) for number in range(4)]] * 6
    made = [one for one, _ in weigh(batch, found).batches]
    room = max(batch.source.numel(), batch.target_output.numel())
    assert all(one.target_output.numel() <= room for one in made)
    written = [row[row != PAD_ID].tolist() for one in made for row in one.target_output]
    assert sorted(written) == sorted([*one.tokens, 2] for own in found for one in own)


def test_candidates_have_dropout_of_their_own_and_only_when_it_is_time():
    batch, settings = a_batch(rows=2), TrainConfig(risk=1.0, risk_after=4)
    found = [[Candidate([5], -1.0, 0.0), Candidate([6], -1.0, 1.0)]] * 2
    passes = Passes(a_model(), settings, Team(), None, lambda model, given: found)
    early, late = (passes.of([batch, batch], step)[0] for step in (4, 5))
    assert [one.weights is None for one in early] == [True, True]
    assert [one.weights is None for one in late[:2]] == [True, True]
    assert len(late) > 2
    assert all(one.weights is not None for one in late[2:])
    assert len({one.key for one in late}) == len(late)


def test_a_risk_without_candidates_is_a_mistake():
    with pytest.raises(ValueError, match="finds candidates"):
        Passes(a_model(), TrainConfig(risk=1.0), Team(), None, None)


def test_languages_that_are_cut_into_words_in_different_ways_are_refused():
    files = [
        {"source": "a", "target": "b", "languages": ("en", "de")},
        {"source": "a", "target": "c", "languages": ("en", "zh")},
    ]
    config = parse_config({"data": {"train": files, "tags": True, "target_language": "de"}, "train": {"risk": 1.0}})
    with pytest.raises(ConfigError, match="de, zh are cut into words in different ways"):
        candidates_of(config, None)


def test_sharded_weights_are_refused():
    with pytest.raises(ConfigError, match="searches with whole weights"):
        parse_config({"train": {"risk": 1.0, "shard": True}})


SETTINGS = (
    *("train.risk=5.0", "train.risk_after=20", "train.risk_candidates=3"),
    *("train.max_steps=40", "model.dropout=0.1"),
)


def test_a_run_logs_its_risk_and_resumes_to_the_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), SETTINGS)
    train_run(config, tmp_path / "whole")
    train_run(override_config(config, ["train.risk=0.0"]), tmp_path / "plain")
    risky, plain = (training_lines(tmp_path / name) for name in ("whole", "plain"))
    assert ["risk" in line for line in risky] == [line["step"] > 20 for line in risky]
    assert all(0 < line["risk"] < 1 for line in risky[4:])
    for mine, other in zip(risky, plain, strict=True):
        assert (mine["loss"] == other["loss"]) == (mine["step"] <= 20)
    train_killed_at(34, config, tmp_path / "killed", monkeypatch)
    train_run(config, tmp_path / "killed")
    newest = "checkpoints/step-00000040/tensors.safetensors"
    ends = [(tmp_path / name / newest).read_bytes() for name in ("whole", "killed")]
    assert ends[0] == ends[1]
    check_costs(config, tmp_path / "whole")


def check_costs(config, run):
    """What is found for a trained model costs what sacrebleu says, and is as likely as the model says."""
    loaded = load_model(run)
    batch = next(iter(FixedBatches.read(config.data.train, config.data, loaded.tokenizers, 4096)))
    found = candidates_of(config, loaded.tokenizers)(loaded.model, batch)
    assert len(found) == batch.rows
    decode = loaded.tokenizers.target.decode
    row = next(row for row, own in enumerate(found) if own)
    reference = decode(batch.target_output[row][batch.target_output[row] != PAD_ID][:-1].tolist())
    best = found[row][0]
    source = batch.source[row][batch.source_mask[row]][:-1].tolist()
    assert best.log_probability == pytest.approx(
        math.fsum(token_log_probabilities(loaded.model, [source], [best.tokens])[0]), rel=1e-4
    )
    for own in found[row]:
        assert own.cost == pytest.approx(1 - sentence_bleu(decode(own.tokens), [reference]).score / 100)


@pytest.mark.slow
def test_two_processes_learn_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    settings = [*SETTINGS, "train.log_every=1", "model.dropout=0.0"]
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), settings)
    for count in (1, 2):
        train_run(override_config(config, [f"train.processes={count}"]), tmp_path / str(count))
    one, two = (training_lines(tmp_path / name) for name in ("1", "2"))
    for figure in ("loss", "perplexity"):
        assert [line[figure] for line in two] == pytest.approx([line[figure] for line in one], rel=1e-2)
    assert [line["risk"] for line in two[20:]] == pytest.approx([line["risk"] for line in one[20:]], abs=0.02)


def test_a_model_that_knows_no_numbers_has_no_candidates(tmp_path):
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), [*SETTINGS, "train.max_steps=1"])
    train_run(config, tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    loaded.model.output.weight.data.fill_(math.nan)
    batch = next(iter(FixedBatches.read(config.data.train, config.data, loaded.tokenizers, 300)))
    assert candidates_of(config, loaded.tokenizers)(loaded.model, batch) == [[]] * batch.rows
