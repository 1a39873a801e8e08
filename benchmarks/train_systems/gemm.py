"""What the machine's own matrix multiply allows: the products of one training step by torch.mm, and nothing else.

Each product is tried whole and in chunks of rows whose result stays in a cache, and the batch is multiplied by one
thread, by threads that share each product, and by workers of one thread that have a part of the rows each. What is
fastest counts, so that the bound is not set lower than a clever program could get.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from train_systems.flops import PASSES, Product, flops_per_target_token, products
from train_systems.measuring import Task, read_facts, read_task, report

CHUNK_ELEMENTS = (1 << 20, 1 << 22)
"""Elements in a chunk of a product's larger side: 4 MB and 16 MB of float32."""

LEAST_TURNS = 3
"""A median of fewer is none."""

Run = Callable[[], None]


def forms(product: Product) -> list[list[Run]]:
    """For forward, gradient by input and gradient by weight: the ways to compute it."""
    x = torch.randn(product.rows, product.inner)
    weight = torch.randn(product.outer, product.inner)
    gradient = torch.randn(product.rows, product.outer)
    y, x_gradient, weight_gradient = torch.empty_like(gradient), torch.empty_like(x), torch.empty_like(weight)
    sizes = {max(1, elements // max(product.inner, product.outer)) for elements in CHUNK_ELEMENTS}
    sizes = {min(size, product.rows) for size in sizes} | {product.rows}
    return [
        [partial(_rows, x, weight.t(), y, size) for size in sizes],
        [partial(_rows, gradient, weight, x_gradient, size) for size in sizes],
        [partial(_columns, gradient, x, weight_gradient, size) for size in sizes],
    ]


def _rows(left: Tensor, right: Tensor, out: Tensor, size: int) -> None:
    """out = left @ right, some rows at a time."""
    for part, result in zip(torch.split(left, size), torch.split(out, size), strict=True):
        torch.mm(part, right, out=result)


def _columns(left: Tensor, right: Tensor, out: Tensor, size: int) -> None:
    """out = left.T @ right, the sum of what some rows of both give at a time."""
    for number, (part, other) in enumerate(zip(torch.split(left, size), torch.split(right, size), strict=True)):
        if number:
            out.addmm_(part.t(), other)
        else:
            torch.mm(part.t(), other, out=out)


def measure(task: Task) -> dict[str, float]:
    """The rate over all products of a step on an average batch, each as often as it occurs, best shared out."""
    facts = read_facts(task.work)
    vocabulary, batches = facts["vocabulary"], facts["batches"]
    source, target = facts["source_tokens"], facts["target_tokens"]
    step = products(task.shape, vocabulary, round(source / batches), round(target / batches))
    flops = PASSES * sum(product.flops for product in step)
    cores = task.threads or os.cpu_count() or 1
    choices = sorted({(1, 1), (1, cores), (cores, 1)})
    rates: dict[tuple[int, int], float] = {}
    for workers, threads in choices:
        rates[workers, threads] = flops / _seconds_of_workers(step, workers, threads, task.seconds / len(choices)) / 1e9
    best = max(rates, key=rates.__getitem__)
    return {
        "gflops": rates[best],
        "flops_per_target_token": flops_per_target_token(task.shape, vocabulary, source, target),
    }


def _seconds_of_workers(step: list[Product], workers: int, threads: int, budget: float) -> float:
    """The time of all products when so many workers, each with threads of its own, have a part of the rows each.

    torch.mm lets other threads of Python run meanwhile, so that workers need be no processes.
    """
    share = [replace(product, rows=-(-product.rows // workers)) for product in step]

    def work(_: int) -> float:
        torch.set_num_threads(threads)  # holds for the thread of Python that says it
        return _seconds_of_a_step(share, budget)

    with ThreadPoolExecutor(workers) as pool:
        return max(pool.map(work, range(workers)))


def _seconds_of_a_step(step: list[Product], budget: float) -> float:
    """The time of all products, from the median of each, taken in turns for about `budget` seconds."""
    ways = [(product.count, way) for product in step for way in forms(product)]
    times: list[list[list[float]]] = [[[] for _ in runs] for _, runs in ways]
    _take_turns(ways, None)  # the first pass fills caches and is not counted
    started = time.perf_counter()
    while len(times[0][0]) < LEAST_TURNS or time.perf_counter() - started < budget:
        _take_turns(ways, times)
    return sum(
        count * min(statistics.median(of_run) for of_run in of_way)
        for (count, _), of_way in zip(ways, times, strict=True)
    )


def _take_turns(ways: list[tuple[int, list[Run]]], times: list[list[list[float]]] | None) -> None:
    for place, (_, runs) in enumerate(ways):
        for number, run in enumerate(runs):
            started = time.perf_counter()
            run()
            if times is not None:
                times[place][number].append(time.perf_counter() - started)


def main() -> None:
    report(measure(read_task(__doc__)))


if __name__ == "__main__":
    main()
