"""Gradients that processes of one machine add up in memory they share."""

import pytest
import torch
from torch import nn

from regard.train import neighbours
from regard.train.neighbours import SharedGradients


@pytest.mark.parametrize("size", [2, 3, 5])
def test_every_process_gets_the_same_sum(size):
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), ()]
    teams = [[nn.Parameter(torch.zeros(shape)) for shape in shapes] for _ in range(size)]
    memory = torch.full((size, 18), torch.nan)
    shared = [SharedGradients(memory, parameters, rank) for rank, parameters in enumerate(teams)]
    for parameters in teams:
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    teams[0][1].grad = None  # one that this process's batch did not reach
    expected = [sum(team[place].grad for team in teams if team[place].grad is not None) for place in range(len(shapes))]
    for process in shared:
        process.put()
    for process in shared:
        process.add_up()
    for parameters in teams:
        for parameter, total, first in zip(parameters, expected, teams[0], strict=True):
            torch.testing.assert_close(parameter.grad, total)
            assert torch.equal(parameter.grad, first.grad)


def test_memory_is_reserved_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "SHARED_MEMORY", tmp_path)
    assert neighbours._reserve(tmp_path / "new", 4096)
    assert (tmp_path / "new").stat().st_size == 4096
    assert not neighbours._reserve(tmp_path / "new", 4096), "what is there is not taken over"
    monkeypatch.setattr(neighbours, "SHARED_MEMORY", tmp_path / "missing")
    assert not neighbours._reserve(tmp_path / "missing" / "new", 4096)
