"""Dropout masks are right on average, and a function of their key."""

import pytest
import torch

from regard.nn import randomness
from regard.nn.randomness import Dropout, Randomness, mix


@pytest.mark.parametrize("shape", [(1000, 300), (3, 800, 1000)])
@pytest.mark.parametrize("probability", [0.1, 0.3])
def test_masks_drop_the_given_share_and_keep_the_mean(shape, probability):
    source = Randomness(seed=3)
    source.begin(1, 0)
    mask = source.mask(torch.Size(shape), probability, torch.device("cpu"))
    assert mask.shape == shape
    assert (mask == 0).float().mean().item() == pytest.approx(probability, abs=0.005)
    assert mask.mean().item() == pytest.approx(1, abs=0.01)


def test_the_same_key_gives_the_same_masks_whatever_came_before():
    def masks(source, *key):
        source.begin(*key)
        return [source.mask(torch.Size(shape), 0.5, torch.device("cpu")) for shape in [(64, 64), (10, 7)]]

    used, fresh = Randomness(seed=1), Randomness(seed=1)
    for step in range(5):
        masks(used, step)
    for one, other in zip(masks(used, 9, 2), masks(fresh, 9, 2), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(masks(used, 9, 2)[0], masks(used, 9, 3)[0])
    assert not torch.equal(masks(used, 9, 2)[0], masks(Randomness(seed=2), 9, 2)[0])


def test_masks_of_one_pass_differ():
    source = Randomness()
    source.begin(4)
    first, second = (source.mask(torch.Size((50, 50)), 0.5, torch.device("cpu")) for _ in range(2))
    assert not torch.equal(first, second)


def test_offsets_cover_the_pool():
    offsets = [mix(1, step, 1) % 1000 for step in range(3000)]
    counts = torch.tensor(offsets).bincount(minlength=1000)
    assert counts.max() < 15
    assert (counts > 0).float().mean() > 0.9


def test_adding_equals_dropping_and_then_adding():
    x, y = torch.randn(2, 4, 8)
    dropout = Dropout(0.4, Randomness()).train()
    dropout.randomness.begin(1)
    together = dropout.add(x, y)
    dropout.randomness.begin(1)
    torch.testing.assert_close(together, x + dropout(y))
    assert torch.equal(dropout.eval()(y), y)
    assert torch.equal(dropout.add(x, y), x + y)


def test_masks_larger_than_the_pool_are_drawn():
    source = Randomness()
    source.begin(1)
    shape = torch.Size((randomness.POOL_ELEMENTS // 2 + 1,))
    assert source.mask(shape, 0.5, torch.device("cpu")).shape == shape


LARGE = torch.Size((randomness.POOL_ELEMENTS // 2 + 1,))
SHAPES = pytest.mark.parametrize("shape", [torch.Size((64, 32)), LARGE], ids=["from the pool", "drawn"])


@SHAPES
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_masks_are_of_the_type_of_what_they_are_for(shape, dtype):
    def masked(dropout, x):
        dropout.randomness.begin(1)
        return dropout.train()(x)

    dropout, wide = Dropout(0.5, Randomness()), torch.ones(shape)
    assert masked(dropout, wide.to(dtype)).dtype == dtype
    assert torch.equal(masked(dropout, wide.to(dtype)).float(), masked(dropout, wide))
    assert dropout.add(wide, wide.to(dtype)).dtype == torch.float32


@SHAPES
def test_another_device_draws_its_masks_itself_from_the_same_seeds(shape, monkeypatch):
    """`meta` stands for an accelerator; it has no generator, so one that notes its seed stands for it."""
    asked = []

    class Noting:
        def __init__(self, device="cpu"):
            self.device = torch.device(device)

        def manual_seed(self, seed):
            asked.append((self.device.type, seed))
            return generator(seed)

    def generator(seed, of=torch.Generator):
        return of().manual_seed(seed)

    monkeypatch.setattr(torch, "Generator", Noting)
    for device in ("cpu", "meta", "meta"):
        source = Randomness(seed=3)
        source.begin(7, 1)
        assert source.mask(shape, 0.5, torch.device(device)).device.type == device
    (cpu, seed), *others = asked
    assert cpu == "cpu"
    assert others == [("meta", seed)] * 2


def test_drawn_masks_are_a_function_of_their_key():
    def drawn(*key):
        source = Randomness(seed=3)
        source.begin(*key)
        return source.mask(LARGE, 0.5, torch.device("cpu"))

    assert torch.equal(drawn(7, 1), drawn(7, 1))
    assert not torch.equal(drawn(7, 1), drawn(7, 2))


def test_a_share_of_dropout_is_that_of_its_probability():
    part, less = Dropout(0.4, Randomness(seed=2)).train(), Dropout(0.1, Randomness(seed=2)).train()
    part.randomness.share = 0.25
    ones = torch.ones(100, 100)
    for dropout in (part, less):
        dropout.randomness.begin(3)
    assert torch.equal(part(ones), less(ones))
    part.randomness.share = 0.0
    assert not part.active
    assert torch.equal(part(ones), ones)
    part.randomness.share = 1.0
    assert (part(ones) == 0).float().mean().item() == pytest.approx(0.4, abs=0.02)
