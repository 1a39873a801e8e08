"""The matrix products of training one by one, on one thread: our own in C beside torch.mm, in turns.

    python benchmarks/products.py --json products.json

A product of a linear layer is made three times: forward, for the gradient by its input, and for that by its weight.
Ours are called with all made ready, as sub-layers in C do.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from measurement import run_measurement
from train_systems.flops import Product, products
from train_systems.settings import SHAPES, VOCABULARY

from regard import progress
from regard.figures import publish
from regard.native.library import multiplies_fast, why_not
from regard.native.multiplying import lay_out, prepared

ROWS = 256
"""Rows that a sub-layer takes at a time; the output layer takes about as many."""


@dataclass(frozen=True)
class Row:
    """One product: GFLOP/s, the medians of both ways."""

    layer: str
    product: str
    ours: float
    torch: float

    @property
    def ratio(self) -> float:
        return self.ours / self.torch


@dataclass(frozen=True)
class ProductsReport:
    rows: list[Row]
    reason: str | None
    """Why both columns are torch's, where they are."""

    def to_text(self) -> str:
        lines = [f"{'layer':44}{'product':20}{'ours':>8}{'torch':>8}{'ratio':>8}   GFLOP/s, one thread"]
        for row in self.rows:
            lines.append(f"{row.layer:44}{row.product:20}{row.ours:>8.1f}{row.torch:>8.1f}{row.ratio:>8.2f}")
        lines.append(f"median of the ratios: {statistics.median(row.ratio for row in self.rows):.2f}")
        return "\n".join([*lines, *([f"no products of our own here: {self.reason}"] if self.reason else [])])

    def to_json(self) -> dict[str, Any]:
        return {"rows": [{**asdict(row), "ratio": row.ratio} for row in self.rows], "reason": self.reason}


def layers() -> dict[str, Product]:
    """The linear layers of train_speed.py's shapes; of those with the same sizes, the first."""
    found: dict[tuple[int, int], tuple[str, Product]] = {}
    for name, shape in SHAPES.items():
        for product in products(shape, VOCABULARY, ROWS, ROWS):
            found.setdefault((product.inner, product.outer), (f"{name}, {product.name}", product))
    return dict(found.values())


def measure(rounds: int) -> ProductsReport:
    """All products, on one thread."""
    torch.set_num_threads(1)
    rows = []
    wanted = layers()
    with progress.task("layers", len(wanted)) as task:
        for name, layer in wanted.items():
            rows += _measure_layer(name, layer, rounds)
            task.advance(1, name)
    slow = "this processor has neither AVX-512 nor AVX2" if why_not() is None else why_not()
    return ProductsReport(rows, None if multiplies_fast() else slow)


def _measure_layer(name: str, layer: Product, rounds: int) -> list[Row]:
    count, inputs, outputs = layer.rows, layer.inner, layer.outer
    x, weight, gradient = torch.randn(count, inputs), torch.randn(outputs, inputs), torch.randn(count, outputs)
    forward, back = lay_out(weight.t()), lay_out(weight)
    y, by_x = torch.empty_like(gradient), torch.empty_like(x)
    by_weight = torch.zeros(inputs, outputs) if outputs > inputs else torch.zeros_like(weight)
    left, right = (x.t(), gradient) if outputs > inputs else (gradient.t(), x)
    ways: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "forward": (prepared(x, forward, y), lambda: torch.mm(x, weight.t(), out=y)),
        "gradient by input": (prepared(gradient, back, by_x), lambda: torch.mm(gradient, weight, out=by_x)),
        "gradient by weight": (
            prepared(left, right, by_weight, keep=True),
            lambda: by_weight.addmm_(left, right),
        ),
    }
    work = 2e-9 * count * inputs * outputs
    repeats = max(1, round(0.2 / work))
    rows = []
    for product, both in ways.items():
        seconds: list[list[float]] = [[], []]
        for _ in range(rounds):
            for way, times in zip(both, seconds, strict=True):
                times.append(_seconds(way, repeats))
        rows.append(Row(name, product, *(work / statistics.median(times) for times in seconds)))
    return rows


def _seconds(run: Callable[[], Any], repeats: int) -> float:
    run()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="how often the two ways take turns")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {options.rounds}")

    def run(_: Path) -> None:
        publish(measure(options.rounds), options.json)

    return run_measurement("products", options.json, run)


if __name__ == "__main__":
    raise SystemExit(main())
