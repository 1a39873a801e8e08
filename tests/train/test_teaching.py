"""Learning from what other models say of a token: the chunked loss equals autograd, runs resume, mistakes are said."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from killed_run import train_killed_at
from narrow_child import assert_says
from tiny_world import write_tiny_corpus
from torch.nn import functional as F
from two_logits import (
    a_batch,
    a_model,
    assert_ends_as,
    assert_two_learn_as_one,
    leaves,
    training_lines,
)

from regard import pipeline
from regard.errors import ConfigError, CorpusError, RegardError
from regard.models import build_model
from regard.models.ensemble import Ensemble
from regard.pipeline import train_run
from regard.planning.plan import plan_run
from regard.planning.trying import state_bytes
from regard.recipe import override_config, parse_config
from regard.train import output_layer
from regard.train.objective import Objective
from regard.train.passes import Passes
from regard.train.teaching import last_layers, taught_cross_entropy
from regard.train.team import Team


def three_teachers(features, weight, bias):
    """Made-up teachers, the second of another width than the others."""
    narrow = features[:, :5].detach().contiguous(), weight.flip(0)[:, :5].detach().contiguous()
    return [
        (features.flip(0).detach().contiguous(), (weight + 0.1 * weight.flip(0)).detach(), bias),
        (*narrow, bias),
        (features.detach(), 2 * weight.detach(), None),
    ]


def reference(features, weight, bias, teachers, targets, smoothing, share):
    """The loss as its formula says, for autograd: total, smoothed cross-entropy, likelihood, divergence."""
    logits = F.linear(features, weight, bias)
    smoothed = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    taught = torch.stack([F.linear(*teacher).softmax(-1) for teacher in teachers]).mean(0)
    divergence = F.kl_div(logits.log_softmax(-1), taught, reduction="sum")
    likelihood = F.cross_entropy(logits, targets, reduction="sum")
    return (1 - share) * smoothed + share * divergence, smoothed, likelihood, divergence


def given_losses(tokens=19, **settings):
    (features, weight, bias), targets = leaves(tokens=tokens, **settings)
    features = features[:tokens].detach().requires_grad_()
    teachers = three_teachers(features, weight, bias.detach() if bias is not None else None)
    return [features, weight, bias], teachers, targets


def both_losses(pupil, teachers, targets, smoothing=0.1, share=0.4):
    """Ours and autograd's, and the gradients of each."""
    leaf = [part for part in pupil if part is not None]
    ours, theirs = (loss(*pupil, teachers, targets, smoothing, share) for loss in (taught_cross_entropy, reference))
    return ours, theirs, *(torch.autograd.grad(value[0], leaf) for value in (ours, theirs))


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_tokens", [1, 7, 1000])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-5)])
def test_the_mean_of_several_equals_autograd(share, with_bias, chunk_tokens, dtype, tolerance, monkeypatch):
    pupil, teachers, targets = given_losses(with_bias=with_bias, dtype=dtype)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_tokens * len(pupil[1]))
    ours, theirs, got, wanted = both_losses(pupil, teachers, targets, share=share)
    for one, other in zip((*ours, *got), (*theirs, *wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=10 * tolerance)


def test_a_token_that_no_teacher_thinks_possible_is_no_trouble():
    pupil, teachers, targets = given_losses(dtype=torch.float32)
    sure = [(1000 * features, weight, bias) for features, weight, bias in teachers]
    ours, theirs, got, wanted = both_losses(pupil, sure, targets)
    for one, other in zip((*ours, *got), (*theirs, *wanted), strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)


IN_A_CHILD = """
import torch
from test_teaching import both_losses, given_losses

for dtype, tolerance in ((torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
    pupil, teachers, targets = given_losses(tokens=64, vocabulary=4000, dtype=torch.float32)
    for some in (teachers[:1], teachers):
        expected, _, wanted, _ = both_losses(pupil, some, targets)
        with torch.autocast("cpu", dtype=dtype):
            losses, _, got, _ = both_losses(pupil, some, targets)
        torch.testing.assert_close(losses[0], expected[0], rtol=1e-2, atol=0)
        for ours, theirs in zip(got, wanted):
            assert ours.dtype is torch.float32
            assert not torch.equal(ours, theirs)
            assert (ours - theirs).norm() < tolerance * theirs.norm()
print("near")
"""


def test_is_near_where_products_are_narrow():
    assert_says("near", IN_A_CHILD)


def test_an_ensemble_says_what_its_members_say_together():
    sizes = {"width": 24, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}
    other = build_model(parse_config({"model": sizes}).model, 60, 60, seed=5)
    ensemble, batch = Ensemble([a_model(), other]).eval(), a_batch()
    features = ensemble.features(batch.source, batch.source_mask, batch.target_input)
    said = last_layers(ensemble, features.flatten(0, 1))
    together = sum(F.linear(*each).softmax(-1) for each in said) / 2
    torch.testing.assert_close(together, ensemble.output(features).flatten(0, 1).softmax(-1))
    assert [each[0].size(1) for each in said] == [16, 24]


def test_all_of_the_target_from_a_teacher_that_is_the_model_leaves_nothing_to_learn():
    model = a_model(dropout=0.0)
    twins = Ensemble([a_model(dropout=0.0), a_model(dropout=0.0)]).eval()
    loss = Objective(model.train(), 0.1, share=1.0)(a_batch(), twins)
    loss.total.backward()
    assert loss.divergence.abs() < 1e-4
    assert max(parameter.grad.abs().max() for parameter in model.parameters()) < 1e-4


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"teachers": ["x"], "consistency": 1.0}, "`train.consistency` do not go together"),
        ({"teachers": ["x"], "self_distillation": 0.5, "ema": 0.9}, "`train.self_distillation` do not go together"),
        ({"teachers": ["x"], "shard": True}, "`train.shard` do not go together"),
        ({"teachers": ["x"], "distillation": 0.0}, "greater than 0"),
    ],
)
def test_what_cannot_be_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        parse_config({"train": settings})


@pytest.fixture
def config(tmp_path, tiny_run, monkeypatch):
    """A student of two teachers, which are one model."""
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    taught = f"train.teachers={json.dumps([str(tiny_run), str(tiny_run)])}"
    settings = [taught, "train.distillation=0.6", "train.accumulate=2", "train.batch_tokens=300", "train.log_every=5"]
    return override_config(write_tiny_corpus(tmp_path / "corpus"), settings)


def test_a_run_has_its_teachers_tokens_logs_how_far_it_is_from_them_and_resumes_to_the_bit(
    config, tiny_run, tmp_path, monkeypatch
):
    train_run(config, tmp_path / "whole")
    lines = training_lines(tmp_path / "whole")
    assert lines[-1]["distillation"] < lines[0]["distillation"]
    assert (tmp_path / "whole/tokenizer.json").read_bytes() == (tiny_run / "tokenizer.json").read_bytes()
    assert f"from what other models say of it: `{tiny_run}`" in (tmp_path / "whole/README.md").read_text()
    assert_ends_as(tmp_path / "whole", config, tmp_path / "killed", monkeypatch)


def test_a_teacher_that_became_another_is_refused(config, tiny_run, tmp_path, monkeypatch):
    teacher = shutil.copytree(tiny_run, tmp_path / "teacher")
    config = override_config(config, [f'train.teachers=["{teacher}"]'])
    train_killed_at(14, config, tmp_path / "run", monkeypatch)
    weights = teacher / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(CorpusError, match=r"holds another model than when the run in .* began"):
        train_run(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("tokenizer.vocabulary_size=350", "`tokenizer.vocabulary_size` is 350, but the model of `train.teachers`"),
        ("data.source_language=xx", "does not translate xx to fr"),
        ("data.tags=true", "`data.tags` is true, but not for the model of `train.teachers`"),
        ('train.teachers=["nowhere"]', "nowhere"),
    ],
)
def test_a_teacher_that_does_not_suit_is_refused_before_anything_is_made(setting, words, config, tmp_path):
    with pytest.raises(RegardError, match=words):
        train_run(override_config(config, [setting]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_vocabulary_of_its_own_takes_no_teachers(config, tmp_path):
    corpus = config.data.train[0]
    for file in (corpus.source, corpus.target):
        text = Path(file).read_text(encoding="utf-8")
        Path(file).write_text(text.replace("apples", "oranges"), encoding="utf-8")
    plain = override_config(config, ["train.teachers=[]", "train.max_steps=1"])
    train_run(plain, tmp_path / "own")
    shutil.rmtree(tmp_path / "own/checkpoints")
    before = (tmp_path / "own/config.toml").read_bytes()
    (tmp_path / "own/finished.json").unlink()
    with pytest.raises(ConfigError, match=r"the source vocabulary of the run in .* is not that of `train.teachers`"):
        train_run(config, tmp_path / "own")
    assert (tmp_path / "own/config.toml").read_bytes() == before
    began = override_config(config, [f"model.start={tmp_path / 'own'}"])
    with pytest.raises(ConfigError, match=r"vocabulary of `model.start` \(.*own\) is not that of `train.teachers`"):
        train_run(began, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("teachers", ["[]", '["{0}"]'])
def test_a_run_keeps_to_its_teachers(teachers, config, tiny_run, tmp_path, monkeypatch):
    train_killed_at(14, config, tmp_path / "run", monkeypatch)
    other = override_config(config, ["train.teachers=" + teachers.format(tiny_run)])
    with pytest.raises(ConfigError, match=r"its checkpoints were made with `train.teachers` = "):
        train_run(other, tmp_path / "run")


def test_positions_that_a_teacher_has_not_learned_are_refused(config, tmp_path):
    learned = ["train.teachers=[]", "model.positions=learned", "model.max_positions=40", "data.max_tokens=39"]
    train_run(override_config(config, [*learned, "train.max_steps=1"]), tmp_path / "teacher")
    student = override_config(config, [f'train.teachers=["{tmp_path / "teacher"}"]', "data.max_tokens=40"])
    with pytest.raises(ConfigError, match=r"learned positions for 39 tokens and a mark: set `data.max_tokens` to 39"):
        train_run(student, tmp_path / "student")


def test_a_trainer_needs_the_models_that_teach(config):
    with pytest.raises(ValueError, match=r"train.teachers needs the model"):
        Passes(a_model(), config.train, Team(), None, None)


def test_separate_vocabularies_and_teachers_of_several_shapes(config, tmp_path):
    apart = override_config(config, ["tokenizer.shared=false", "model.tie=target", "train.max_steps=4"])
    for name, width in (("one", 16), ("two", 24)):
        train_run(override_config(apart, ["train.teachers=[]", f"model.width={width}"]), tmp_path / name)
    teachers = json.dumps([str(tmp_path / name) for name in ("one", "two")])
    train_run(override_config(apart, [f"train.teachers={teachers}", "train.ema=0.9"]), tmp_path / "student")
    for side in ("source", "target"):
        tokens = [(tmp_path / name / f"tokenizer.{side}.json").read_bytes() for name in ("two", "student")]
        assert tokens[0] == tokens[1]


def test_a_plan_knows_of_teachers(config, tiny_run, tmp_path):
    plan = plan_run(config, tmp_path / "run", 1)
    assert f"of {tiny_run}" in plan.to_text()
    plain = override_config(config, ["train.teachers=[]"])
    weights = (tiny_run / "model.safetensors").stat().st_size
    assert state_bytes(config, 100) == state_bytes(plain, 100) + 2 * weights
    with pytest.raises(ConfigError, match="does not translate xx to fr"):
        plan_run(override_config(config, ["data.source_language=xx"]), tmp_path / "run", 1)


@pytest.mark.slow
def test_two_processes_learn_as_one(config, tmp_path):
    assert_two_learn_as_one(config, tmp_path, "distillation")
