"""Weights and gradients that processes of one machine hold in memory they share."""

import pytest
import torch
from torch import nn

from regard.train import neighbours
from regard.train.neighbours import SharedParameters, deal


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_owner_gets_the_sum(size):
    generator = torch.Generator().manual_seed(0)
    shapes, owners = [(3, 4), (5,), ()], [1, 0, size - 1]
    teams = [[nn.Parameter(torch.zeros(shape)) for shape in shapes] for _ in range(size)]
    memory = torch.full((size + 1, 18), torch.nan)
    shared = [SharedParameters(memory, parameters, owners, rank) for rank, parameters in enumerate(teams)]
    for parameters in teams:
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    teams[0][1].grad = None  # one that this process's batch did not reach
    expected = [sum(team[place].grad for team in teams if team[place].grad is not None) for place in range(len(shapes))]
    for process in shared:
        process.put()
    for process in shared:
        process.add_up()
    for rank, parameters in enumerate(teams):
        for place, parameter in enumerate(parameters):
            assert (parameter in shared[rank].owned) == (owners[place] == rank)
            if owners[place] == rank:
                torch.testing.assert_close(parameter.grad, expected[place])
            else:
                assert parameter.grad is None, "so that the optimiser leaves it alone"


def test_what_one_changes_the_others_have():
    teams = [[nn.Parameter(torch.full((2, 3), float(rank))), nn.Parameter(torch.ones(4))] for rank in range(2)]
    memory = torch.zeros(3, 10)
    shared = [SharedParameters(memory, parameters, [0, 1], rank) for rank, parameters in enumerate(teams)]
    shared[0].fill()
    for process in shared:
        process.adopt()
    assert torch.equal(teams[1][0], torch.zeros(2, 3)), "the weights of the process that leads"
    with torch.no_grad():
        teams[0][0].add_(7)
    assert torch.equal(teams[1][0], torch.full((2, 3), 7.0))


def test_work_is_dealt_evenly():
    assert deal([5, 1, 1, 1, 1, 1], 2) == [0, 1, 1, 1, 1, 1]
    assert deal([3, 3, 2, 2, 2], 2) == [0, 1, 0, 1, 0]
    assert deal([4.0], 3) == [0]


def test_memory_is_reserved_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "SHARED_MEMORY", tmp_path)
    assert neighbours._reserve(tmp_path / "new", 4096)
    assert (tmp_path / "new").stat().st_size == 4096
    assert not neighbours._reserve(tmp_path / "new", 4096), "what is there is not taken over"
    monkeypatch.setattr(neighbours, "SHARED_MEMORY", tmp_path / "missing")
    assert not neighbours._reserve(tmp_path / "missing" / "new", 4096)
