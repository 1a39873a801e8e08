"""Processes of one machine with one set of weights, in memory that they share: no network lies between them.

Each owns some of the parameters: it adds up their gradients, keeps the optimiser's state for them, and changes them.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, distributed, nn

from regard.progress import note
from regard.train.team import TorchTeam

SHARED_MEMORY = Path("/dev/shm")


class NeighbourTeam(TorchTeam):
    """Several processes on one CPU, each with a part of every batch; without shared memory, the engine serves them."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        super().__init__(rank, size, device, cut=True)
        self._shared: SharedParameters | None = None

    def share(
        self, module: nn.Module, narrow: torch.dtype | None = None, costs: Mapping[Tensor, float] | None = None
    ) -> nn.Module:
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        # Scaled gradients must be unscaled, and judged, by all in the same way: nobody may hold a part of them.
        apart = narrow is torch.float16 or len(parameters) < self.size
        memory = None if apart else self._memory(sum(parameter.numel() for parameter in parameters))
        if memory is None:
            if self.leads and not apart:
                note(f"no room in {SHARED_MEMORY} for the gradients: they are sent instead, which takes longer")
            return super().share(module, narrow)
        owners = deal([(costs or {}).get(parameter, parameter.numel()) for parameter in parameters], self.size)
        self._shared = SharedParameters(memory, parameters, owners, self.rank)
        if self.leads:
            self._shared.fill()
        self.meet()
        self._shared.adopt()
        self.divided_by = 1
        return module

    def owns(self, parameter: Tensor) -> bool:
        return self._shared is None or parameter in self._shared.owned

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
        self._shared.put()
        sums = super().agree(values)  # all have written
        self._shared.add_up()
        return sums

    def norm(self, gradients: Sequence[Tensor]) -> float:
        if self._shared is None:
            return super().norm(gradients)
        own = super().norm(gradients) if gradients else 0.0
        return math.sqrt(super().agree([own**2])[0])  # and all have read what the others wrote

    def settle(self) -> None:
        if self._shared is not None:
            self.meet()

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors that only their owner has come to the process that leads."""
        found = dict(tensors)
        if self._shared is None:
            return found
        names = self._said("\n".join(found).encode() if self.leads else None).decode().split("\n")
        for rank in range(1, self.size):
            if self.rank == rank:
                missing = {name: tensor.contiguous() for name, tensor in found.items() if name not in names}
                send(safetensors.torch.save(missing), to=0)
            elif self.leads:
                found |= safetensors.torch.load(receive(rank))
        return found

    def _said(self, message: bytes | None) -> bytes:
        """What the leading process says, in all processes."""
        length = int(self.told([len(message or b"")])[0])
        text = torch.frombuffer(bytearray(message or bytes(length)), dtype=torch.uint8)
        distributed.broadcast(text, src=0)
        return text.numpy().tobytes()

    def _memory(self, elements: int) -> Tensor | None:
        """Floats [size + 1, elements] that all processes see, or None where the system has no room for them."""
        path = SHARED_MEMORY / f"regard-{os.getpid()}-{secrets.randbits(48)}"
        rows = self.size + 1
        try:
            reserved = self.leads and _reserve(path, rows * elements * 4)
            found, process, number = self.told([reserved, *map(int, path.name.split("-")[1:])])
            path = SHARED_MEMORY / f"regard-{int(process)}-{int(number)}"
            if not found:
                return None
            memory = torch.from_file(str(path), shared=True, size=rows * elements, dtype=torch.float32)
            self.meet()
            return memory.view(rows, elements)
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


def deal(costs: Sequence[float], hands: int) -> list[int]:
    """Who takes what, so that all have about the same to do: the dearest first, each to the one who has least."""
    owners, loads = [0] * len(costs), [0.0] * hands
    for place in sorted(range(len(costs)), key=lambda place: (-costs[place], place)):
        owners[place] = loads.index(min(loads))
        loads[owners[place]] += costs[place]
    return owners


def send(message: bytes, to: int) -> None:
    """Send bytes to a process that waits for them with `receive`."""
    distributed.send(torch.tensor([len(message)]), to)
    distributed.send(torch.frombuffer(bytearray(message), dtype=torch.uint8), to)


def receive(sender: int) -> bytes:
    """The bytes that a process sends."""
    length = torch.empty(1, dtype=torch.int64)
    distributed.recv(length, sender)
    message = torch.empty(int(length), dtype=torch.uint8)
    distributed.recv(message, sender)
    return message.numpy().tobytes()


class SharedParameters:
    """The weights, one set for all, and beside them room for every process's gradients of what others own."""

    def __init__(self, memory: Tensor, parameters: list[nn.Parameter], owners: list[int], rank: int) -> None:
        sizes = [parameter.numel() for parameter in parameters]
        self._parameters, self._owners, self._rank = parameters, owners, rank
        self.owned = {parameter for parameter, owner in zip(parameters, owners, strict=True) if owner == rank}
        *self._gradients, self._weights = (
            [part.view_as(parameter) for part, parameter in zip(row.split(sizes), parameters, strict=True)]
            for row in memory
        )

    def fill(self) -> None:
        """Put this process's weights where all will have theirs."""
        torch._foreach_copy_(self._weights, [parameter.data for parameter in self._parameters])

    def adopt(self) -> None:
        """Let the shared weights be this process's."""
        for parameter, weight in zip(self._parameters, self._weights, strict=True):
            parameter.data = weight

    def put(self) -> None:
        """Lay out this process's gradients of what others own, and forget them."""
        others = [place for place, owner in enumerate(self._owners) if owner != self._rank]
        if others:
            views = [self._gradients[self._rank][place] for place in others]
            torch._foreach_copy_(views, [self._gradient(place) for place in others])
        for place in others:
            self._parameters[place].grad = None

    def add_up(self) -> None:
        """Make the sum of all processes' gradients that of their owner."""
        own = [place for place, owner in enumerate(self._owners) if owner == self._rank]
        for rank, views in enumerate(self._gradients):
            if own and rank != self._rank:
                torch._foreach_add_([self._gradient(place) for place in own], [views[place] for place in own])

    def _gradient(self, place: int) -> Tensor:
        parameter = self._parameters[place]
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        return parameter.grad
