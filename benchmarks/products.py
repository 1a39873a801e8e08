"""The matrix products of training one by one, on one thread: our own in C, in fp32 and bf16, beside torch.mm, in turns.

    python benchmarks/products.py --json products.json

A product of a linear layer is made three times: forward, for the gradient by its input, and for that by its weight.
Ours are called with all made ready, as sub-layers in C do.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from measurement import run_measurement
from train_systems.flops import Product, products
from train_systems.settings import SHAPES, VOCABULARY

from regard import progress
from regard.figures import publish
from regard.native.forms import products_in_bf16, takes_bf16
from regard.native.library import multiplies_fast, why_not
from regard.native.multiplying import lay_out, prepared

ROWS = 256
"""Rows that a sub-layer takes at a time; the output layer takes about as many."""


@dataclass(frozen=True)
class Row:
    """One product: GFLOP/s, the medians of each way."""

    layer: str
    product: str
    ours: float
    torch: float
    bf16: float | None
    """Of our own products of bfloat16, where the processor has them."""

    @property
    def ratio(self) -> float:
        return self.ours / self.torch


@dataclass(frozen=True)
class ProductsReport:
    rows: list[Row]
    reason: str | None
    """Why both columns are torch's, where they are."""

    def to_text(self) -> str:
        lines = [f"{'layer':44}{'product':20}{'ours':>8}{'torch':>8}{'ratio':>8}{'bf16':>8}   GFLOP/s, one thread"]
        for row in self.rows:
            narrow = "-" if row.bf16 is None else f"{row.bf16:.1f}"
            lines.append(f"{row.layer:44}{row.product:20}{row.ours:>8.1f}{row.torch:>8.1f}{row.ratio:>8.2f}{narrow:>8}")
        lines.append(f"median of the ratios: {statistics.median(row.ratio for row in self.rows):.2f}")
        if gains := [row.bf16 / row.ours for row in self.rows if row.bf16 is not None]:
            lines.append(f"median of bf16 to fp32, both ours: {statistics.median(gains):.2f}")
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
    y, by_x = torch.empty_like(gradient), torch.empty_like(x)
    by_weight = torch.zeros(inputs, outputs) if outputs > inputs else torch.zeros_like(weight)
    left, right = (x.t(), gradient) if outputs > inputs else (gradient.t(), x)

    ways: dict[str, list[Callable[[], Any]]] = {
        "torch": [
            lambda: torch.mm(x, weight.t(), out=y),
            lambda: torch.mm(gradient, weight, out=by_x),
            lambda: by_weight.addmm_(left, right),
        ],
    }
    laid_out = []  # they must live as long as what reads them
    for way, precision in {"ours": nullcontext, **({"bf16": products_in_bf16} if takes_bf16() else {})}.items():
        with precision():
            forward, back = lay_out(weight.t()), lay_out(weight)
            laid_out += [forward, back]
            by_weight_again = prepared(left, right, by_weight, keep=True)
            ways[way] = [prepared(x, forward, y), prepared(gradient, back, by_x), by_weight_again]
    work = 2e-9 * count * inputs * outputs
    repeats = max(1, round(0.2 / work))
    rows = []
    for number, product in enumerate(("forward", "gradient by input", "gradient by weight")):
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, times in seconds.items():
                times.append(_seconds(ways[way][number], repeats))
        rates = {way: work / statistics.median(times) for way, times in seconds.items()}
        rows.append(Row(name, product, rates["ours"], rates["torch"], rates.get("bf16")))
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
