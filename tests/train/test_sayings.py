"""Teachers that are asked once: what is kept of their words teaches as they do, is asked for once, and survives."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from killed_run import Killed, train_killed_at
from safetensors.torch import load_file, save_file
from test_teaching import given_losses
from tiny_world import write_tiny_corpus
from torch.nn import functional as F
from two_logits import assert_two_learn_as_one, training_lines

from regard import pipeline
from regard.data.batch import batch_of
from regard.data.batches import TrainingBatches
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers
from regard.errors import ConfigError, RegardError
from regard.models.teachers import read_teachers
from regard.pipeline import train_run
from regard.planning.plan import plan_run
from regard.recipe import override_config, parse_config
from regard.train import output_layer, sayings
from regard.train.sayings import ask_teachers
from regard.train.teacher_forcing import features_at, real_tokens
from regard.train.teaching import Likeliest, taught_cross_entropy
from regard.train.team import Team


def said_together(teachers):
    """What teachers say, [N, V]."""
    return torch.stack([F.linear(*teacher).softmax(-1) for teacher in teachers]).mean(0)


def reference(features, weight, bias, said, targets, smoothing, share):
    """The loss as its formula says, for autograd."""
    vocabulary = len(weight)
    logits = F.linear(features, weight, bias)
    rest = (1 - said.probabilities.sum(-1, keepdim=True)) / vocabulary
    taught = rest.repeat(1, vocabulary).scatter_add(1, said.tokens, said.probabilities)
    smoothed = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    divergence = F.kl_div(logits.log_softmax(-1), taught, reduction="sum")
    likelihood = F.cross_entropy(logits, targets, reduction="sum")
    return (1 - share) * smoothed + share * divergence, smoothed, likelihood, divergence


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("kept", [1, 6])
@pytest.mark.parametrize("chunk_tokens", [1, 7, 1000])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-5)])
def test_what_is_kept_teaches_as_autograd_has_it(share, with_bias, kept, chunk_tokens, dtype, tolerance, monkeypatch):
    pupil, teachers, targets = given_losses(with_bias=with_bias, dtype=dtype)
    monkeypatch.setitem(output_layer.CHUNK_ELEMENTS, "cpu", 2 * chunk_tokens * len(pupil[1]))
    said = Likeliest(*reversed(said_together(teachers).topk(kept)))
    leaf = [part for part in pupil if part is not None]
    ours, theirs = (loss(*pupil, said, targets, 0.1, share) for loss in (taught_cross_entropy, reference))
    got, wanted = (torch.autograd.grad(value[0], leaf) for value in (ours, theirs))
    for one, other in zip((*ours, *got), (*theirs, *wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=10 * tolerance)


def test_all_tokens_kept_teach_as_the_teachers_themselves():
    pupil, teachers, targets = given_losses(dtype=torch.float64)
    said = Likeliest(*reversed(said_together(teachers).topk(len(pupil[1]))))
    leaf = [part for part in pupil if part is not None]
    kept, asked = (taught_cross_entropy(*pupil, each, targets, 0.1, 0.4) for each in (said, teachers))
    of_kept, of_asked = (torch.autograd.grad(value[0], leaf) for value in (kept, asked))
    for one, other in zip((*kept, *of_kept), (*asked, *of_asked), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_probabilities_that_were_rounded_up_are_no_more_than_one():
    pupil, _, targets = given_losses(dtype=torch.float32)
    tokens = torch.arange(2).repeat(len(targets), 1)
    above, exact = (Likeliest(tokens, torch.full(tokens.shape, each)) for each in (0.5004, 0.5))
    for one, other in zip(
        *(taught_cross_entropy(*pupil, said, targets, 0.1, 0.4) for said in (above, exact)), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.fixture
def config(tmp_path, tiny_run, monkeypatch):
    """A student of two teachers, which are asked once."""
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    other = shutil.copytree(tiny_run, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({name: 0.9 * value for name, value in weights.items()}, other / "model.safetensors")
    taught = f"train.teachers={json.dumps([str(tiny_run), str(other)])}"
    settings = [taught, "train.distillation=0.6", "train.accumulate=2", "train.batch_tokens=300", "train.log_every=5"]
    return override_config(write_tiny_corpus(tmp_path / "corpus"), [*settings, "train.teacher_tokens=512"])


@pytest.fixture
def asked_for(monkeypatch):
    """The first pairs of the blocks that teachers are asked about, where a block has 50."""
    first_pairs = []
    said_of = sayings.said_of

    def counted(teacher, prepared, pairs, *given):
        first_pairs.append(int(pairs[0]))
        return said_of(teacher, prepared, pairs, *given)

    monkeypatch.setattr(sayings, "BLOCK_PAIRS", 50)
    monkeypatch.setattr(sayings, "said_of", counted)
    return first_pairs


def test_a_run_learns_as_from_the_teachers_themselves(config, tmp_path):
    train_run(config, tmp_path / "once")
    train_run(override_config(config, ["train.teacher_tokens=0"]), tmp_path / "each")
    once, each = (training_lines(tmp_path / name) for name in ("once", "each"))
    for figure in ("loss", "distillation", "perplexity"):
        assert [line[figure] for line in once] == pytest.approx([line[figure] for line in each], rel=5e-3, abs=1e-3)
    assert not (tmp_path / "each/said").exists()


def test_a_run_asks_once_and_resumes_to_the_bit(config, tmp_path, monkeypatch, asked_for):
    few = override_config(config, ["train.teacher_tokens=5"])
    train_run(few, tmp_path / "whole")
    train_killed_at(14, few, tmp_path / "killed", monkeypatch)
    blocks = sorted((tmp_path / "killed/said").glob("*/*"))
    assert asked_for == 2 * [0, 50, 100, 150]
    assert len(blocks) == 4
    blocks[1].write_bytes(blocks[1].read_bytes()[:-1])
    monkeypatch.setattr(sayings, "BLOCK_PAIRS", 50)
    train_run(few, tmp_path / "killed")
    assert asked_for[8:] == [50]  # what was cut short, and nothing else
    ends = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert ends[0] == ends[1]


def test_asking_that_was_interrupted_goes_on_with_what_is_missing(config, tmp_path, monkeypatch, asked_for):
    counted = sayings.said_of

    def killed(*given):
        if len(asked_for) == 2:
            raise Killed
        return counted(*given)

    monkeypatch.setattr(sayings, "said_of", killed)
    with pytest.raises(Killed):
        train_run(config, tmp_path / "run")
    monkeypatch.setattr(sayings, "said_of", counted)
    result = train_run(config, tmp_path / "run")
    assert asked_for == [0, 50, 100, 150]
    assert result.outcome.steps == config.train.max_steps


def test_asking_counts_among_the_seconds_of_a_run(config, tmp_path, monkeypatch):
    clock = iter([0.0, 1000.0])
    monkeypatch.setattr(sayings, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    short = override_config(config, ["train.max_steps=1"])
    assert 1000 < train_run(short, tmp_path / "run").outcome.seconds < 1100


@pytest.mark.parametrize(
    "change", ["train.teacher_tokens=6", 'train.teachers=["{0}", "{0}"]', 'train.teachers=["{1}", "{0}", "{0}"]']
)
def test_other_teachers_are_asked_anew_and_nothing_old_stays(change, config, tmp_path, monkeypatch, asked_for):
    few = override_config(config, ["train.teacher_tokens=5", "train.max_steps=2"])
    train_killed_at(1, few, tmp_path / "run", monkeypatch)
    train_run(override_config(few, [change.format(*config.train.teachers)]), tmp_path / "run")
    assert asked_for == 2 * [0, 50, 100, 150]
    assert len(list((tmp_path / "run/said").iterdir())) == 1


class OneOf(Team):
    """One of several processes that need not wait for each other here."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def never():
    raise AssertionError("nothing was missing")


def test_each_token_gets_what_is_said_of_it_whoever_asks(config, tiny_run, tmp_path, monkeypatch, asked_for):
    monkeypatch.setattr(sayings, "CHUNK_TOKENS", 13)
    twice = config.data.train[0].model_copy(update={"weight": 2.0})
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (twice,)})})
    tokenizers, models = Tokenizers.load(tiny_run), read_teachers(config)
    vocabulary = tokenizers.target.vocabulary_size
    prepared = PreparedCorpus.build(tmp_path / "prepared", config.data.train, config.data, tokenizers)
    given = [prepared, config, tmp_path / "run"]
    load = lambda: models.model.requires_grad_(False)  # noqa: E731 - as short as it gets
    ask_teachers(load, *given, OneOf(0, 2), vocabulary)
    assert asked_for == [0, 100]
    said = ask_teachers(load, *given, OneOf(1, 2), vocabulary)
    assert asked_for == [0, 100, 50, 150]
    assert ask_teachers(never, *given, OneOf(0, 1), vocabulary).seconds == 0
    for batch, _ in TrainingBatches(prepared, tokenizers, config, part=1, parts=2).epoch(0):
        of_tokens = said.of(batch)
        expected = models.model.output(features_at(models.model, batch, real_tokens(batch))).softmax(-1)
        values, _ = expected.topk(vocabulary)
        torch.testing.assert_close(of_tokens.probabilities, values, rtol=2e-3, atol=1e-6)
        torch.testing.assert_close(expected.gather(1, of_tokens.tokens), values, rtol=1e-4, atol=1e-7)
    nothing = said.of(batch.without_targets())
    assert nothing.tokens.shape == (0, vocabulary)


@pytest.mark.parametrize(
    ("damage", "words"),
    [(lambda kept: kept[:-9], "damaged; delete it"), (lambda kept: b"\xff" * len(kept), "holds what no teacher says")],
)
def test_damage_is_said(damage, words, config, tiny_run, tmp_path, asked_for):
    tokenizers, models = Tokenizers.load(tiny_run), read_teachers(config)
    prepared = PreparedCorpus.build(tmp_path / "prepared", config.data.train, config.data, tokenizers)
    said = ask_teachers(
        lambda: models.model, prepared, config, tmp_path / "run", Team(), tokenizers.target.vocabulary_size
    )
    for block in (tmp_path / "run/said").glob("*/*"):
        block.write_bytes(damage(block.read_bytes()))
    with pytest.raises(RegardError, match=words):
        said.of(batch_of(prepared.source, prepared.target, np.arange(50), np.arange(50)))


def test_a_large_vocabulary_has_wider_numbers(config):
    narrow, wide = (sayings.record_of(config, vocabulary)["tokens"].base for vocabulary in (1 << 16, (1 << 16) + 1))
    assert np.iinfo(narrow).max == (1 << 16) - 1
    assert np.iinfo(wide).max >= 1 << 16
    assert sayings.record_of(config, 10)["tokens"].shape == (10,)


def test_a_disk_that_cannot_be_written_is_said(config, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/said").write_text("in the way")
    with pytest.raises(RegardError, match=r"said.*cannot be written .* a part of that path is a file"):
        train_run(config, tmp_path / "run")


def test_tokens_that_change_are_refused():
    settings = {"train": {"teachers": ["x"], "teacher_tokens": 8}, "tokenizer": {"kind": "bpe", "dropout": 0.1}}
    with pytest.raises(ConfigError, match=r"`tokenizer.dropout` makes others each time: set one of them to 0"):
        parse_config(settings)
    parse_config({**settings, "train": {"teacher_tokens": 8}})


def test_a_plan_counts_the_asking(config, tiny_run, tmp_path):
    plan = plan_run(config, tmp_path / "run", 1)
    assert "asking the teachers" in plan.to_text()
    assert plan.expected.time.total > plan.expected.time.asking > 0
    tokenizers = Tokenizers.load(tiny_run)
    prepared = PreparedCorpus.build(tmp_path / "prepared", config.data.train, config.data, tokenizers)
    tokens = len(prepared.target.values) + len(prepared)
    assert plan.facts.costs.said_bytes == tokens * 4 * tokenizers.target.vocabulary_size
    assert plan.expected.disk > plan.facts.costs.said_bytes


@pytest.mark.slow
def test_two_processes_ask_and_learn_as_one(config, tmp_path):
    corpus = config.data.train[0]
    for file in (corpus.source, corpus.target):
        Path(file).write_text(Path(file).read_text(encoding="utf-8") * 6, encoding="utf-8")
    config = override_config(config, ["train.max_steps=10", "train.log_every=1", "train.teacher_tokens=8"])
    assert_two_learn_as_one(config, tmp_path, "distillation")
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).glob("said/*/*")} for name in ("1", "2"))
    assert len(one) == 2
    assert {name: len(content) for name, content in one.items()} == {name: len(each) for name, each in two.items()}
