"""How many threads a process of a run computes with, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.config import TrainConfig
from regard.hardware import available_cores


def threads_for(config: TrainConfig, processes: int) -> int:
    """The threads of each of several processes on one machine."""
    return max(1, (config.threads or available_cores()) // processes)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch, and the kernels that go by it, use so many threads; afterwards as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
