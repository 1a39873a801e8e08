from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.train.averaging import MovingAverage, mean_of
from regard.train.checkpoint import Checkpoint, CheckpointStore


def weights(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "matrix": torch.randn(6, 5, generator=generator),
        "vector": torch.randn(9, generator=generator),
        "number": torch.randn((), generator=generator),
    }


def copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.3, 0.99])
def test_moving_average_equals_the_obvious_loop(decay: float, warm: bool) -> None:
    average = MovingAverage(weights(0), decay, warm)
    obvious = {name: tensor.double() for name, tensor in weights(0).items()}
    for n in range(30):
        current = weights(n + 1)
        average.update(current)
        d = min(decay, (1 + n) / (10 + n)) if warm else decay
        for name in obvious:
            obvious[name] = d * obvious[name] + (1 - d) * current[name].double()
    assert average.updates == 30
    for name, tensor in average.weights().items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor.double(), obvious[name], rtol=1e-6, atol=1e-6)


def test_the_moving_average_is_a_copy_and_leaves_the_model_alone() -> None:
    model = torch.nn.Linear(3, 2)
    parameters = dict(model.named_parameters())
    average = MovingAverage(parameters, 0.9)
    before = {name: tensor.detach().clone() for name, tensor in parameters.items()}
    with torch.no_grad():
        model.weight.add_(1.0)
    assert torch.equal(average.weights()["weight"], before["weight"])
    average.update(parameters)
    assert torch.equal(model.weight, before["weight"] + 1)
    assert not average.weights()["weight"].requires_grad


def test_a_restored_moving_average_goes_on_to_the_bit(tmp_path: Path) -> None:
    alone = MovingAverage(weights(0), 0.999)
    for step in range(1, 8):
        alone.update(weights(step))
    store = CheckpointStore(tmp_path)
    store.save(7, alone.state(), {})
    checkpoint = store.latest()
    assert checkpoint is not None
    resumed = MovingAverage(weights(100), 0.999)
    resumed.restore(checkpoint.tensors())
    assert resumed.weights_of(checkpoint.tensors()).keys() == alone.weights().keys()
    for step in range(8, 20):
        alone.update(weights(step))
        resumed.update(weights(step))
    assert resumed.updates == alone.updates == 19
    for name, tensor in alone.weights().items():
        assert torch.equal(resumed.weights()[name], tensor)


def test_a_state_of_another_model_is_refused() -> None:
    average = MovingAverage(weights(0), 0.9)
    kept = copied(average.weights())
    wrong_shape = {**average.state(), "weights.vector": torch.zeros(4)}
    no_count = {name: tensor for name, tensor in average.state().items() if name != "updates"}
    for state in ({}, wrong_shape, no_count, {**average.state(), "weights.more": torch.zeros(1)}):
        with pytest.raises(RegardError, match="no moving average for this model"):
            average.restore(state)
    assert all(torch.equal(average.weights()[name], tensor) for name, tensor in kept.items())


def saved(folder: Path, tensors: list[dict[str, Tensor]]) -> list[Checkpoint]:
    store = CheckpointStore(folder, keep_last=len(tensors))
    for step, named in enumerate(tensors, start=1):
        store.save(step, {**named, "optimiser.weight": torch.full((2,), float(step))}, {})
    return store.last(len(tensors))


def test_mean_equals_the_obvious_loop(tmp_path: Path) -> None:
    all_weights = [weights(seed) for seed in range(5)]
    checkpoints = saved(tmp_path, [{f"model.{name}": t for name, t in named.items()} for named in all_weights])
    mean = mean_of(checkpoints)
    assert mean.keys() == {"matrix", "vector", "number"}
    for name, tensor in mean.items():
        total = torch.zeros_like(tensor, dtype=torch.float64)
        for named in reversed(all_weights):
            total = total + named[name].double()
        assert torch.equal(tensor, (total / 5).float())


def test_the_mean_of_one_is_itself(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, [{f"model.{name}": tensor for name, tensor in weights(3).items()}])
    assert all(torch.equal(tensor, weights(3)[name]) for name, tensor in mean_of(checkpoints).items())


def test_sums_are_taken_in_64_bits(tmp_path: Path) -> None:
    values = [1.0, 2.0**-24, 2.0**-24, 2.0**-24, 2.0**-24]  # each small one alone is lost beside 1.0 in 32 bits
    checkpoints = saved(tmp_path, [{"model.w": torch.tensor([value])} for value in values])
    assert mean_of(checkpoints)["w"].item() == torch.tensor((1 + 2.0**-22) / 5).item()


def test_types_come_back_and_counts_are_those_of_the_newest(tmp_path: Path) -> None:
    tensors = [
        {"model.half": torch.tensor([step], dtype=torch.bfloat16), "model.n": torch.tensor(step)} for step in (1, 4)
    ]
    mean = mean_of(saved(tmp_path, tensors))
    assert (mean["half"].dtype, mean["half"].item()) == (torch.bfloat16, 2.5)
    assert mean["n"].item() == 4


def test_a_mean_of_different_models_or_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no checkpoint"):
        mean_of([])
    different = saved(tmp_path / "a", [{"model.w": torch.zeros(2)}, {"model.w": torch.zeros(3)}])
    with pytest.raises(RegardError, match=r"step-00000001: holds other tensors than .*step-00000002"):
        mean_of(different)
    with pytest.raises(RegardError, match="begins with average"):
        mean_of(different, prefix="average.")
