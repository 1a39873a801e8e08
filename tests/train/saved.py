"""Checkpoints to test with: some tensors, saved in a store."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from regard.train.checkpoint import CheckpointStore

TENSORS, FACTS, MANIFEST = "tensors.safetensors", "facts.json", "manifest.json"


def some_tensors(step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return {
        "model.weight": torch.randn(7, 3, generator=generator),
        "model.double": torch.randn(5, generator=generator, dtype=torch.float64),
        "optimiser.step": torch.tensor(float(step)),
        "random": generator.get_state(),
        "counts": torch.arange(step, step + 4),
        "empty": torch.zeros(0, 3),
        "flags": torch.tensor([True, False]),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
    }


def save(store: CheckpointStore, step: int, score: float | None = None) -> Path:
    return store.save(step, some_tensors(step), {"step": step, "rate": 0.1 * step}, score)


def assert_equal_tensors(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
