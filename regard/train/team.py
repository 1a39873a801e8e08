"""The processes that train one model together, under torch's own distributed engine; one process is a team too."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

from regard.errors import RegardError
from regard.models.contract import SequenceToSequence

PATIENCE = timedelta(days=1)
"""How long processes wait for one that validates or saves; one that dies is noticed at once."""
MEETING_SECONDS = 600.0

JOINING = timedelta(minutes=10)
"""How long they wait for one that has not joined yet; that one may have died, which nobody would notice."""

PARTING = timedelta(seconds=5)
"""How long they wait for one another when all is done."""

_meetings = itertools.count()
"""Processes meet once for each model that they train, all of them equally often."""


class Team:
    """One process: what a team of one needs to agree on is agreed already."""

    rank = 0
    size = 1
    turn, turns = 0, 1
    """Of every `turns` batches in a row this process takes number `turn`,"""
    part, parts = 0, 1
    """and of each of these, part number `part` of `parts`."""
    shards = False
    """Whether each process holds a part of the weights only."""
    divided_by = 1
    """By what the sum of all processes' gradients has been divided on its way."""

    @property
    def leads(self) -> bool:
        """Whether this process validates, saves and speaks for all."""
        return self.rank == 0

    def share(
        self,
        module: nn.Module,
        narrow: torch.dtype | None = None,  # noqa: ARG002 - the signature of its kind
        costs: Mapping[Tensor, float] | None = None,  # noqa: ARG002
    ) -> nn.Module:
        """Make all processes start from the same weights, and average their gradients on every backward pass.

        `costs` tells what a step of the optimiser costs for each parameter, where not as much as it has elements.
        """
        return module

    def owns(self, parameter: Tensor) -> bool:  # noqa: ARG002 - the signature of its kind
        """Whether this process keeps the optimiser's state for a parameter, and changes it."""
        return True

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:  # noqa: ARG002 - the signature of its kind
        """Inside, gradients stay where they are: for all but the last batch of a step."""
        yield

    def judged(self, model: SequenceToSequence) -> SequenceToSequence:
        """A model to put whole weights into, for validation; asked for before the model is shared."""
        return model

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors of the model, or shaped like them, in full; all processes must ask, and one that leads is told."""
        return dict(tensors)

    def kept(self, whole: Tensor, like: Tensor) -> Tensor:  # noqa: ARG002 - the signature of its kind
        """What this process keeps of a whole tensor, if it keeps it as it keeps `like`; all processes must ask."""
        return whole

    def norm(self, gradients: Sequence[Tensor]) -> float:
        """The norm of all gradients together, the same in all processes."""
        return float(torch.nn.utils.get_total_norm(gradients))

    def agree(self, values: Sequence[float]) -> list[float]:
        """Add up numbers over all processes after a step's backward passes, and the gradients, if they did not."""
        return list(values)

    def settle(self) -> None:
        """After a step of the optimiser: all processes have changed what is theirs."""

    def told(self, values: Sequence[float]) -> list[float]:
        """What the leading process says, in all processes."""
        return list(values)

    def gathered(self, values: Sequence[float]) -> list[list[float]]:
        """What each process says, in all processes; one may say more than another."""
        return [list(values)]

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """What is done inside must end well in all processes: where it does not, all stop, and say where and why."""
        yield

    def meet(self) -> None:
        """Wait until all processes are here."""

    def part_ways(self) -> None:
        """Wait until nobody has anything left to say; then all may leave."""

    def close(self) -> None:
        """Leave the team."""


class TorchTeam(Team):
    """Several processes under torch's distributed engine: one model, gradients added up (DDP).

    They take batches in turn, or each a part of every batch (`cut`).
    """

    def __init__(self, rank: int, size: int, device: torch.device, cut: bool = False) -> None:
        self.rank, self.size, self.device = rank, size, device
        self.divided_by = size
        if cut:
            self.part, self.parts = rank, size
        else:
            self.turn, self.turns = rank, size

    def share(
        self,
        module: nn.Module,
        narrow: torch.dtype | None = None,  # noqa: ARG002 - the signature of its kind
        costs: Mapping[Tensor, float] | None = None,  # noqa: ARG002
    ) -> nn.Module:
        return DistributedDataParallel(module, gradient_as_bucket_view=True)

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:
        assert isinstance(module, DistributedDataParallel)
        with module.no_sync():
            yield

    def agree(self, values: Sequence[float]) -> list[float]:
        total = self._tensor(values)
        distributed.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def told(self, values: Sequence[float]) -> list[float]:
        said = self._tensor(values)
        distributed.broadcast(said, src=0)
        return [float(value) for value in said.tolist()]

    def gathered(self, values: Sequence[float]) -> list[list[float]]:
        lengths = [int(length) for (length,) in self._gathered([len(values)])]
        missing = max(lengths) - len(values)
        said = self._gathered([*values, *[0.0] * missing]) if any(lengths) else [[]] * self.size
        return [one[:length] for one, length in zip(said, lengths, strict=True)]

    def _gathered(self, values: Sequence[float]) -> list[list[float]]:
        """What each process says, where all say equally much."""
        own = self._tensor(values)
        every = [torch.empty_like(own) for _ in range(self.size)]
        distributed.all_gather(every, own)
        return [one.tolist() for one in every]

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        problem = ""
        try:
            yield
        except RegardError as error:
            problem = str(error)
        said = [bytes(map(int, message)).decode() for message in self.gathered(problem.encode())]
        if problems := [f"process {rank} of this run: {message}" for rank, message in enumerate(said) if message]:
            self.part_ways()  # all know, and leave together
            raise RegardError(f"{'; '.join(problems)}. No process goes on alone: mend that, and give the command again")

    def _tensor(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=self.device)

    def meet(self) -> None:
        distributed.barrier()

    def part_ways(self) -> None:
        _part_ways(self.size)


def torch_team(rank: int, size: int, device: torch.device, shard: bool, cut: bool = False) -> Team:
    """This process's place among several that the engine has joined."""
    if not shard and cut and device.type == "cpu":
        from regard.train.neighbours import NeighbourTeam

        return NeighbourTeam(rank, size, device)
    if not shard:
        return TorchTeam(rank, size, device, cut)
    from regard.train.sharding import ShardedTeam  # takes a second, and few need it

    return ShardedTeam(rank, size, device, cut)


@contextmanager
def team_of_torchrun(device: torch.device, shard: bool = False) -> Iterator[Team]:
    """The team that torchrun's environment describes, or this process alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Team()
        return
    with engine(device, size, **_meeting_place()):
        try:
            yield torch_team(distributed.get_rank(), size, device, shard)
        except RuntimeError as error:
            if not any(engine_name in str(error) for engine_name in ("gloo", "NCCL")):
                raise
            raise RegardError(
                "another process of this run has gone; where torchrun has restarts left (--max-restarts) it starts all "
                "again, and they go on from the last checkpoint. The same command does so too"
            ) from error


def _meeting_place() -> dict[str, Any]:
    """Where the processes find each other's addresses.

    torchrun keeps one store through all restarts, in which a process would find addresses of processes that are gone;
    and what it counts as a restart differs from machine to machine. So the first process opens a store of its own
    each time, and the shared one tells where; as long as it tells of one that is gone, the others ask again.
    """
    missing = next((name for name in ("MASTER_ADDR", "MASTER_PORT", "RANK") if name not in os.environ), None)
    if missing is not None:
        raise RegardError(f"WORLD_SIZE is set in the environment, as torchrun does, but not {missing}: use torchrun")
    host, rank, meeting = os.environ["MASTER_ADDR"], int(os.environ["RANK"]), f"regard/meeting/{next(_meetings)}"
    shared = _shared_store()
    if rank == 0:
        store = TCPStore(host, 0, is_master=True, wait_for_workers=False)
        shared.set(meeting, str(store.port))
    else:
        store = _opened_store(shared, host, meeting)
    store.set_timeout(PATIENCE)
    return {"store": store, "rank": rank}


@cache
def _shared_store() -> TCPStore:
    """The store of this run's processes, which is there before they meet and after: torchrun's, or the first's."""
    owner = os.environ["RANK"] == "0" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        return TCPStore(*place, is_master=owner, wait_for_workers=False, timeout=JOINING)
    except RuntimeError as error:
        raise RegardError(f"the processes of this run cannot find each other at {place[0]}: {error}") from None


def _opened_store(shared: TCPStore, host: str, meeting: str) -> TCPStore:
    deadline = time.monotonic() + MEETING_SECONDS
    while True:
        try:
            return TCPStore(host, int(shared.get(meeting)), is_master=False, timeout=timedelta(seconds=2))
        except RuntimeError as error:
            if time.monotonic() > deadline:
                raise RegardError(f"the first process of this run cannot be found at {host}: {error}") from None


@contextmanager
def engine(device: torch.device, size: int, joining: timedelta = JOINING, **place: Any) -> Iterator[None]:
    """Start the distributed engine for `size` processes, and stop it after."""
    backend = "nccl" if device.type == "cuda" else "gloo"
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        distributed.init_process_group(backend, world_size=size, timeout=joining, **place)
        distributed.distributed_c10d._set_pg_timeout(PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise RegardError(f"the {size} processes of this run cannot find each other: {error}") from None
    try:
        yield
        _part_ways(size)
    finally:
        distributed.destroy_process_group()


def _part_ways(size: int) -> None:
    """Wait until no process has anything left to say to another, and then until all know that.

    A process that closes its connections while a message to it is unread resets them, and what it sent last is lost
    with them. The store has connections of its own, in the first process, which therefore goes last.
    """
    store = distributed.distributed_c10d._get_default_store()
    with suppress(RuntimeError):  # somebody has gone without a word, when all was done
        try:
            _count_to(size, store, "regard/done")
        finally:
            _count_to(size, store, "regard/leaving", waits=distributed.get_rank() == 0)


def _count_to(size: int, store: Store, key: str, waits: bool = True) -> None:
    """Count this process, and, where it `waits`, go on when all have been counted."""
    if store.add(key, 1) == size:
        store.set(f"{key}: all", "")
    if waits:
        store.wait([f"{key}: all"], PARTING)
