"""The processes that train one model together, under torch's own distributed engine; one process is a team too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

from regard.errors import RegardError

PATIENCE = timedelta(days=1)
"""How long processes wait for one that validates or saves; one that dies is noticed at once."""

JOINING = timedelta(minutes=10)
"""How long they wait for one that has not joined yet; that one may have died, which nobody would notice."""


class Team:
    """One process: what a team of one needs to agree on is agreed already."""

    rank = 0
    size = 1

    @property
    def leads(self) -> bool:
        """Whether this process validates, saves and speaks for all."""
        return self.rank == 0

    def share(self, module: nn.Module) -> nn.Module:
        """Make all processes start from the same weights, and add up their gradients on every backward pass."""
        return module

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:  # noqa: ARG002 - the signature of its kind
        """Inside, gradients stay where they are: for all but the last batch of a step."""
        yield

    def sums(self, values: Sequence[float]) -> list[float]:
        """Add up numbers over all processes."""
        return list(values)

    def told(self, values: Sequence[float]) -> list[float]:
        """What the leading process says, in all processes."""
        return list(values)

    def meet(self) -> None:
        """Wait until all processes are here."""

    def close(self) -> None:
        """Leave the team."""


class TorchTeam(Team):
    """Several processes under torch's distributed engine: one model, data in turn, gradients added up (DDP)."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        self.rank, self.size, self.device = rank, size, device

    def share(self, module: nn.Module) -> nn.Module:
        return DistributedDataParallel(module, gradient_as_bucket_view=True)

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:
        assert isinstance(module, DistributedDataParallel)
        with module.no_sync():
            yield

    def sums(self, values: Sequence[float]) -> list[float]:
        total = self._tensor(values)
        distributed.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def told(self, values: Sequence[float]) -> list[float]:
        said = self._tensor(values)
        distributed.broadcast(said, src=0)
        return [float(value) for value in said.tolist()]

    def _tensor(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=self.device)

    def meet(self) -> None:
        distributed.barrier()


@contextmanager
def team_of_torchrun(device: torch.device) -> Iterator[Team]:
    """The team that torchrun's environment describes, or this process alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Team()
        return
    with engine(device, size, **_meeting_place()):
        yield TorchTeam(distributed.get_rank(), size, device)


def _meeting_place() -> dict[str, Any]:
    """Where the processes find each other's addresses.

    torchrun keeps one store through all restarts, and a process that looked into it after one would find the address
    of a process that is gone; so each attempt has names of its own.
    """
    environment = os.environ
    if environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return {}
    shared = TCPStore(environment["MASTER_ADDR"], int(environment["MASTER_PORT"]), is_master=False)
    attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = PrefixStore(f"regard/attempt-{attempt}", shared)
    return {"store": store, "rank": int(environment["RANK"])}


@contextmanager
def engine(device: torch.device, size: int, joining: timedelta = JOINING, **place: Any) -> Iterator[None]:
    """Start the distributed engine for `size` processes, and stop it after."""
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        distributed.init_process_group(backend, world_size=size if place else -1, timeout=joining, **place)
        distributed.distributed_c10d._set_pg_timeout(PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise RegardError(f"the {size} processes of this run cannot find each other: {error}") from None
    try:
        yield
    finally:
        distributed.destroy_process_group()
