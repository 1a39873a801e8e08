"""What tests of losses with two logits a token share: made-up features, a small model, runs that must end alike."""

import json

import pytest
import torch
from killed_run import train_killed_at

from regard.data.batches import collate
from regard.models import build_model
from regard.pipeline import train_run
from regard.recipe import override_config, parse_config


def leaves(tokens=19, width=16, vocabulary=101, with_bias=True, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(2 * tokens, width, generator=generator, dtype=torch.float64) * scale
    weight = torch.randn(vocabulary, width, generator=generator, dtype=torch.float64) / 2
    bias = torch.randn(vocabulary, generator=generator, dtype=torch.float64) if with_bias else None
    targets = torch.randint(vocabulary, (tokens,), generator=generator)
    parameters = [tensor.to(dtype).requires_grad_() for tensor in (features, weight, bias) if tensor is not None]
    return (*parameters, *([] if with_bias else [None])), targets


def a_model(dropout=0.3):
    sizes = {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": dropout}
    return build_model(parse_config({"model": sizes}).model, 60, 60, seed=3)


def a_batch(rows=7):
    generator = torch.Generator().manual_seed(1)
    sides = [
        [torch.randint(4, 60, (2 + row % 4,), generator=generator).tolist() for row in range(rows)] for _ in range(2)
    ]
    return collate(*sides, range(rows))


def training_lines(run):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "train"]


def assert_ends_as(whole, config, folder, monkeypatch):
    """See that a run which is killed, and goes on in another folder, ends as one that was left alone."""
    train_killed_at(14, config, folder, monkeypatch)
    train_run(config, folder)
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def assert_two_learn_as_one(config, folder, *figures):
    """See that two processes log what one does, in these figures and in those of every run."""
    for count in (1, 2):
        train_run(override_config(config, [f"train.processes={count}"]), folder / str(count))
    one, two = (training_lines(folder / name) for name in ("1", "2"))
    for figure in ("loss", "perplexity", *figures):
        assert [line[figure] for line in two] == pytest.approx([line[figure] for line in one], rel=1e-3)
