"""Work done by two processes of a team, which are forked from a server that has torch loaded; and what both gave."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch.distributed import TCPStore

from regard.train.processes import HOST, JOINING
from regard.train.team import Team, engine, torch_team

PATIENCE = 120.0


def in_two_processes(work: Callable[..., Any], *arguments: Any, cut: bool) -> list[Any]:
    """What `work(team, *arguments)` gives in each of two processes, or the exception that it raised there.

    With `cut` they are a team of one machine, else one of torchrun's. `work` is found by its module and name.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["regard.pipeline", "torch._dynamo"])
    store = TCPStore(HOST, 0, 2, is_master=True, wait_for_workers=False)
    ends = [context.Pipe(duplex=False) for _ in range(2)]
    processes = [
        context.Process(target=_take_part, args=(rank, store.port, cut, given, work, arguments), daemon=True)
        for rank, (_, given) in enumerate(ends)
    ]
    for process in processes:
        process.start()
    try:
        return [taken.recv() if taken.poll(PATIENCE) else TimeoutError("hung") for taken, _ in ends]
    finally:
        for process in processes:
            process.kill()
            process.join()


def _take_part(
    rank: int, port: int, cut: bool, given: Any, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    torch.set_num_threads(1)
    device, store = torch.device("cpu"), TCPStore(HOST, port, 2, is_master=False)
    try:
        with engine(device, 2, JOINING, store=store, rank=rank):
            result = _result(work, torch_team(rank, 2, device, shard=False, cut=cut), arguments)
            given.send(result)
            store.set(f"over/{rank}", "")
            store.wait([f"over/{1 - rank}"])  # a process that has left would look like one that has died
    except BaseException:
        traceback.print_exc()
        raise


def _result(work: Callable[..., Any], team: Team, arguments: tuple[Any, ...]) -> Any:
    try:
        return work(team, *arguments)
    except Exception as error:
        return error
