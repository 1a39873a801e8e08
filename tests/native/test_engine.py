"""The engine in C gives the logits that the model's own steps give, whatever the beam does with its rows."""

import math

import pytest
import torch

from regard.config import ModelConfig
from regard.data.vocabulary import BOS_ID
from regard.errors import InputError
from regard.models import build_model
from regard.native import library as native
from regard.native.choice import MAX_BEST, best_tokens
from regard.native.engine import PackedTransformer, suits_engine
from regard.native.steps import NativeSteps
from regard.search import engine as engines

pytestmark = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")

VOCABULARY = 75


def build(**changes):
    sizes = dict(width=32, feed_forward=48, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.0)
    model = build_model(ModelConfig(**{**sizes, **changes}), VOCABULARY, VOCABULARY, 1)
    for parameter in model.parameters():  # no zeros and ones that would hide a mistake
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


def sentences(count=3, longest=9):
    source = torch.randint(4, VOCABULARY, (count, longest), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(longest) < torch.tensor([longest, 4, 1])[:count, None]
    return source, mask


VARIANTS = {
    "as in the paper": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned", "max_positions": 64},
    "no positions": {"positions": "none"},
    "rotary positions": {"positions": "rotary"},
    "output bias": {"output_bias": True},
    "apart": {"tie": "none"},
    "unscaled": {"score": "dot", "scale_embeddings": False},
    "one wide head": {"heads": 1},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@torch.inference_mode()
def test_steps_equal_those_of_the_model(changes):
    model = build(**changes)
    decoder = NativeSteps(PackedTransformer(model.parts()))
    memory = model.encode(*sentences())
    state, own = model.start(memory), decoder.start(memory.states, memory.mask)
    tokens = torch.full((3,), BOS_ID)
    generator = torch.Generator().manual_seed(1)
    for step in range(20):
        expected, state = model.step(tokens, state)
        got, own = decoder.step(tokens, own)
        torch.testing.assert_close(got, expected, atol=2e-5, rtol=1e-4)
        rows_each = 1 if step == 0 else 4
        chosen = torch.randint(rows_each, (3, 4), generator=generator)
        rows = (torch.arange(3)[:, None] * rows_each + chosen).flatten()
        state, own = state.reorder(rows), own.reorder(rows)
        tokens = torch.randint(4, VOCABULARY, (len(rows),), generator=generator)


@torch.inference_mode()
def test_sentences_that_leave_change_nothing_for_others():
    model = build()
    decoder = NativeSteps(PackedTransformer(model.parts()))
    memory = model.encode(*sentences())
    both, rest = decoder.start(memory.states, memory.mask), decoder.start(memory.states, memory.mask)
    tokens = torch.tensor([BOS_ID] * 3)
    _, both = decoder.step(tokens, both)
    _, rest = decoder.step(tokens, rest)
    rest = rest.keep(torch.tensor([2]), torch.tensor([2]))
    expected, _ = decoder.step(torch.tensor([5, 6, 7]), both.reorder(torch.arange(3)))
    got, _ = decoder.step(torch.tensor([7]), rest)
    torch.testing.assert_close(got[0], expected[2], atol=1e-5, rtol=1e-5)


def test_it_follows_weights_that_change():
    model = build()
    engine = NativeSteps(PackedTransformer(model.parts()))
    engine.encode(*sentences())
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)  # leaves no trace on a tensor's version
    model(*sentences(), torch.full((3, 2), BOS_ID)).sum().backward()
    optimiser.step()
    with torch.inference_mode():
        memory = model.encode(*sentences())
        tokens = torch.tensor([BOS_ID] * 3)
        got, _ = engine.step(tokens, engine.start(engine.encode(*sentences()), memory.mask))
        torch.testing.assert_close(got, model.step(tokens, model.start(memory))[0], atol=2e-5, rtol=1e-4)


def test_weights_that_nobody_trains_are_packed_once():
    packed = PackedTransformer(build().requires_grad_(False).parts())
    assert packed.structure(10) is packed.structure(20)
    assert packed.structure(10) is not packed.structure(5000), "more positions than there were"


def test_weights_that_are_trained_are_packed_each_time_and_no_larger():
    packed = PackedTransformer(build().parts())
    first = packed.structure(10)
    assert packed.structure(10) is not first
    for _ in range(50):
        packed.structure(10)
    assert packed._positions == 256


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@torch.inference_mode()
def test_the_encoder_equals_that_of_the_model(changes):
    model = build(**changes, encoder_layers=2)
    source, mask = sentences()
    expected = model.encode(source, mask).states
    got = NativeSteps(PackedTransformer(model.parts())).encode(source, mask)
    torch.testing.assert_close(got[mask], expected[mask], atol=2e-5, rtol=1e-4)
    assert not got[~mask].any()


@pytest.mark.parametrize(
    "changes",
    [
        {"score": "additive"},
        {"score": "general"},
        {"activation": "gelu"},
        {"activation": "swiglu"},
    ],
    ids=str,
)
def test_other_models_keep_their_own_steps(changes):
    model = build(**changes)
    assert model.parts() is None
    assert engines.engine_for(model) is model


def test_narrow_heads_keep_their_own_steps():
    assert not suits_engine(build(heads=4).parts())


@pytest.mark.parametrize("count", [1, 5, 40, MAX_BEST])
@pytest.mark.parametrize("vocabulary", [129, 1000, 1024])
def test_best_tokens(count, vocabulary):
    logits = torch.randn(7, vocabulary, generator=torch.Generator().manual_seed(0)) * 5
    logits[0, :3] = 50.0  # forbidden, and yet they take nearly all of the probability
    values, tokens = best_tokens(logits, count, (0, 1, 2))
    expected = logits.double().log_softmax(-1)
    expected[:, :3] = -torch.inf
    exact, order = expected.topk(min(count, vocabulary - 3))
    assert torch.equal(tokens[:, : order.size(1)], order)
    torch.testing.assert_close(values[:, : order.size(1)].double(), exact, atol=1e-5, rtol=1e-5)
    assert values[:, order.size(1) :].eq(-torch.inf).all()


def test_equal_logits_are_taken_in_order():
    values, tokens = best_tokens(torch.zeros(1, 100), 4, (0, 1))
    assert tokens.tolist() == [[2, 3, 4, 5]]
    assert values[0].tolist() == pytest.approx([-math.log(100)] * 4)


def test_what_is_not_a_number_is_not_hidden():
    logits = torch.zeros(2, 64)
    logits[1, 40] = torch.nan
    values, _ = best_tokens(logits, 2, ())
    assert values.isnan().any(1).tolist() == [False, True]


def test_positions_that_were_never_learned_are_refused():
    packed = PackedTransformer(build(positions="learned", max_positions=16).parts())
    packed.structure(16)
    with pytest.raises(InputError, match="learned 16 positions"):
        packed.structure(17)


def test_a_model_that_is_no_longer_float32_is_refused():
    model = build().requires_grad_(False)
    packed = PackedTransformer(model.parts())
    packed.structure(4)
    model.double()
    with pytest.raises(InputError, match="no longer float32"):
        packed.structure(4)


def test_a_frozen_model_that_is_changed_in_place_is_packed_anew():
    model = build().requires_grad_(False)
    engine = NativeSteps(PackedTransformer(model.parts()))
    before = engine.encode(*sentences())
    for parameter in model.parameters():
        parameter.mul_(1.5)
    assert not torch.equal(engine.encode(*sentences()), before)
