"""The Transformer keeps its contract, whatever parts it is built from."""

import pytest
import torch

from regard.config import ModelConfig
from regard.models import build_model

VARIANTS = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "rotary": {"positions": "rotary"},
    "learned": {"positions": "learned", "max_positions": 16},
    "concatenated": {"positions": "concatenated"},
    "dot": {"score": "dot"},
    "general": {"score": "general"},
    "additive": {"score": "additive"},
    "gelu": {"activation": "gelu"},
    "gated": {"activation": "gated-gelu"},
    "swiglu": {"activation": "swiglu", "norm": "pre"},
    "target-tied": {"tie": "target"},
    "word-dropout": {"word_dropout": 0.3, "attention_dropout": 0.1, "activation_dropout": 0.1},
    "untied": {"tie": "none", "output_bias": True, "scale_embeddings": False},
}
SIZES = {"width": 16, "feed_forward": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.2}


@pytest.fixture(params=VARIANTS, ids=str)
def model(request):
    return build_model(ModelConfig(**SIZES, **VARIANTS[request.param]), 50, 50, seed=5).eval()


def batch(rows=4, source=6, target=5):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(4, 50, (rows, source), generator=generator)
    mask = torch.arange(source)[None] < torch.tensor([source, 2, 4, 1])[:rows, None]
    return tokens, mask, torch.randint(4, 50, (rows, target), generator=generator)


@torch.no_grad()
def test_cached_decoding_equals_full_decoding_at_every_step(model):
    source, mask, target = batch()
    full = model(source, mask, target)
    state = model.start(model.encode(source, mask))
    for position in range(target.size(1)):
        logits, state = model.step(target[:, position], state)
        torch.testing.assert_close(logits, full[:, position], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_future_is_hidden(model):
    source, mask, target = batch()
    changed = target.clone()
    changed[:, 3:] = 7
    before, after = model(source, mask, target), model(source, mask, changed)
    torch.testing.assert_close(before[:, :3], after[:, :3], atol=1e-6, rtol=0)
    assert not torch.allclose(before[:, 3:], after[:, 3:])


@torch.no_grad()
def test_padding_does_not_matter(model):
    source, mask, target = batch()
    alone = model(source[2:3, :4], mask[2:3, :4], target[2:3])
    changed = torch.where(mask, source, 9)
    torch.testing.assert_close(model(changed, mask, target)[2:3], alone, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_beams_share_a_sentence_and_can_be_reordered(model):
    source, mask, target = batch()
    state = model.start(model.encode(source, mask))
    _, state = model.step(target[:, 0], state)
    state = state.expand(3)
    tokens = target[:, 1].repeat_interleave(3)
    tokens[1::3] = 8
    logits, state = model.step(tokens, state)
    prefix = target[:, :2].clone()
    torch.testing.assert_close(logits[0::3], model(source, mask, prefix)[:, 1], atol=1e-5, rtol=1e-5)
    prefix[:, 1] = 8
    torch.testing.assert_close(logits[1::3], model(source, mask, prefix)[:, 1], atol=1e-5, rtol=1e-5)

    kept = torch.tensor([3, 1])
    rows = torch.tensor([10, 9, 9, 4, 3, 5])
    logits, _ = model.step(torch.full((6,), 11), state.keep(kept, rows))
    prefix = torch.cat([prefix[3:4], torch.tensor([[11]])], dim=1)
    torch.testing.assert_close(logits[0:1], model(source[3:4], mask[3:4], prefix)[:, 2], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_recorded_attention_is_a_distribution_over_what_may_be_seen(model):
    source, mask, target = batch()
    recorded = {}
    plain = model.features(source, mask, target)
    torch.testing.assert_close(model.features(source, mask, target, recorded.__setitem__), plain, atol=1e-5, rtol=1e-5)
    assert sorted(recorded) == sorted(f"{kind}.{layer}" for kind in ("encoder", "decoder", "cross") for layer in (0, 1))
    assert recorded["encoder.0"].shape == (4, 2, 6, 6)
    assert recorded["decoder.1"].shape == (4, 2, 5, 5)
    assert recorded["cross.1"].shape == (4, 2, 5, 6)
    for name, weights in recorded.items():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        if name.startswith("decoder"):
            assert not weights.triu(1).any()
        else:
            assert not weights[~mask[:, None, None].expand_as(weights)].any()


def test_dropout_is_a_function_of_the_key(model):
    model.train()
    source, mask, target = batch()

    def features(*key):
        model.randomness.begin(*key)
        return model.features(source, mask, target)

    first = features(1, 0)
    assert not torch.equal(first, features(2, 0))
    assert torch.equal(first, features(1, 0))
    assert not torch.equal(first, model.eval().features(source, mask, target))


def test_word_dropout_leaves_out_whole_tokens_and_no_position():
    settings = {**SIZES, "dropout": 0.0, "word_dropout": 0.4, "positions": "none"}
    embedding = build_model(ModelConfig(**settings), 50, 50).source_embedding
    tokens = torch.arange(4, 44).view(4, 10)
    plain = embedding.eval()(tokens)
    dropped = embedding.train()(tokens)
    left_out = (dropped == 0).all(-1)
    assert 4 < left_out.sum() < 30
    torch.testing.assert_close(dropped[~left_out], plain[~left_out] / 0.6)


def test_every_parameter_learns(model):
    source, mask, target = batch()
    model.train().randomness.begin(1)
    model(source, mask, target).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


def test_weights_are_a_function_of_the_seed():
    one, same, other = (build_model(ModelConfig(**SIZES), 50, 50, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.output.weight, other.output.weight)


@pytest.mark.parametrize(("tie", "tables"), [("three-way", 1), ("target", 2), ("none", 3)])
def test_tying_shares_tables(tie, tables):
    model = build_model(ModelConfig(**SIZES, tie=tie), 50, 50)
    weights = [model.source_embedding.table.weight, model.target_embedding.table.weight, model.output.weight]
    assert len({id(weight) for weight in weights}) == tables
