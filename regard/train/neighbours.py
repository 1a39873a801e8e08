"""Processes of one machine that add up their gradients in memory that they share: no network lies between them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import Tensor, distributed, nn

from regard.train.team import TorchTeam

SHARED_MEMORY = Path("/dev/shm")


class NeighbourTeam(TorchTeam):
    """Several processes on one CPU, each with a part of every batch; without shared memory, the engine serves them."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        super().__init__(rank, size, device, cut=True)
        self._shared: SharedGradients | None = None

    def share(self, module: nn.Module, narrow: torch.dtype | None = None) -> nn.Module:
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        memory = self._memory(sum(parameter.numel() for parameter in parameters))
        if memory is None:
            return super().share(module, narrow)
        for parameter in parameters:
            distributed.broadcast(parameter.data, src=0)
        self._shared = SharedGradients(memory, parameters, self.rank)
        self.divided_by = 1
        return module

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:
        if self._shared is not None:
            yield
            return
        with super().apart(module):
            yield

    def agree(self, values: Sequence[float]) -> list[float]:
        if self._shared is None:
            return super().agree(values)
        self.meet()  # all have read what was there
        self._shared.put()
        sums = super().agree(values)  # all have written
        self._shared.add_up()
        return sums

    def _memory(self, elements: int) -> Tensor | None:
        """Floats [size, elements] that all processes see, or None where the system has no room for them."""
        path = SHARED_MEMORY / f"regard-{os.getpid()}-{secrets.randbits(48)}"
        reserved = self.leads and _reserve(path, self.size * elements * 4)
        found, process, number = self.told([reserved, *map(int, path.name.split("-")[1:])])
        path = SHARED_MEMORY / f"regard-{int(process)}-{int(number)}"
        try:
            if not found:
                return None
            memory = torch.from_file(str(path), shared=True, size=self.size * elements, dtype=torch.float32)
            self.meet()
            return memory.view(self.size, elements)
        finally:
            if self.leads:  # what is mapped stays, and nothing is left behind
                path.unlink(missing_ok=True)


def _reserve(path: Path, size: int) -> bool:
    """Make a file of shared memory that has its memory, so that writing to it cannot fail."""
    if not SHARED_MEMORY.is_dir() or not hasattr(os, "posix_fallocate"):
        return False
    with suppress(OSError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
            return True
        finally:
            os.close(descriptor)
    return False


class SharedGradients:
    """The gradients of every process, side by side."""

    def __init__(self, memory: Tensor, parameters: list[nn.Parameter], rank: int) -> None:
        sizes = [parameter.numel() for parameter in parameters]
        self._parameters, self._rank = parameters, rank
        self._views = [
            [part.view_as(parameter) for part, parameter in zip(row.split(sizes), parameters, strict=True)]
            for row in memory
        ]

    def put(self) -> None:
        """Lay out this process's gradients."""
        torch._foreach_copy_(self._views[self._rank], self._gradients())

    def add_up(self) -> None:
        """Make the sum of all processes' gradients this one's; in every process it has the same bits."""
        gradients = self._gradients()
        if len(self._views) == 2:  # two numbers have the same sum in either order
            torch._foreach_add_(gradients, self._views[1 - self._rank])
            return
        torch._foreach_copy_(gradients, self._views[0])
        for views in self._views[1:]:
            torch._foreach_add_(gradients, views)

    def _gradients(self) -> list[Tensor]:
        for parameter in self._parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self._parameters if parameter.grad is not None]
