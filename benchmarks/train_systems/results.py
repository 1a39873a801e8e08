"""From measurements to medians, ratios and the table; needs no system to have run."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.table import Table

from train_systems.measuring import Measurement


@dataclass
class SystemResult:
    """All that was measured of one system with one shape."""

    threads: int
    """0: its own choice."""
    calibration: dict[int, float] = field(default_factory=dict)
    """Tokens a second by threads, from short measurements that decided `threads` and count for nothing else."""
    rounds: list[Measurement] = field(default_factory=list)

    @property
    def tokens_per_second(self) -> list[float]:
        return [measurement.tokens_per_second for measurement in self.rounds]

    @property
    def median(self) -> float:
        return median(self.tokens_per_second)

    @property
    def peak_memory_mb(self) -> list[float]:
        return [measurement.peak_memory_mb for measurement in self.rounds]

    def to_json(self) -> dict[str, Any]:
        return {
            "tokens_per_second": self.tokens_per_second,
            "peak_memory_mb": self.peak_memory_mb,
            "threads": self.threads,
            "parameters": self.rounds[-1].parameters,
            "calibration": self.calibration,
        }


@dataclass
class ShapeResult:
    """The systems side by side, with one shape."""

    systems: dict[str, SystemResult] = field(default_factory=dict)
    gflops: list[float] = field(default_factory=list)
    """Of the matrix products alone, a round each."""
    flops_per_target_token: float | None = None
    unavailable: dict[str, str] = field(default_factory=dict)
    """Why a system that was asked for is not there."""

    @property
    def empty(self) -> bool:
        """Whether nothing has been measured yet."""
        return not self._measured() and not self.gflops

    @property
    def ratio(self) -> dict[str, float]:
        """regard's median over that of each other system: above 1, regard is faster."""
        regard = self.systems.get("regard")
        if regard is None or not regard.rounds:
            return {}
        return {name: regard.median / system.median for name, system in self._measured() if name != "regard"}

    @property
    def gemm_fraction(self) -> float | None:
        """The rate of useful products in regard's training, over the rate of the same products alone."""
        regard = self.systems.get("regard")
        if regard is None or not regard.rounds or not self.gflops or self.flops_per_target_token is None:
            return None
        return self.flops_per_target_token * regard.median / (median(self.gflops) * 1e9)

    def _measured(self) -> list[tuple[str, SystemResult]]:
        return [(name, system) for name, system in self.systems.items() if system.rounds]

    def to_json(self) -> dict[str, Any]:
        return {
            "ratio": self.ratio,
            "gemm_fraction": self.gemm_fraction,
            "gemm_gflops": self.gflops,
            "flops_per_target_token": self.flops_per_target_token,
            "systems": {name: system.to_json() for name, system in self._measured()},
            "unavailable": self.unavailable,
        }

    def table(self, title: str) -> Table:
        """For people: one row a system, and under them what the machine would allow."""
        table = Table(title=title, caption=self._caption(), title_justify="left", caption_justify="left")
        table.add_column("system")
        for heading in ("threads", "target tok/s", "lowest - highest", "peak MB", "regard / it"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, system in self._measured():
            speeds = system.tokens_per_second
            table.add_row(
                name,
                str(system.threads or "own"),
                f"{system.median:,.0f}",
                f"{min(speeds):,.0f} - {max(speeds):,.0f}",
                f"{max(system.peak_memory_mb):,.0f}",
                f"{self.ratio[name]:.2f}" if name in self.ratio else "",
            )
        for name in self.unavailable:
            table.add_row(name, "", "not measured", "", "", "")
        return table

    def _caption(self) -> str | None:
        if not self.gflops or self.flops_per_target_token is None:
            return None
        rate = median(self.gflops)
        allowed = rate * 1e9 / self.flops_per_target_token
        caption = f"torch.mm alone: {rate:,.0f} GFLOP/s, which would allow {allowed:,.0f} target tokens/s"
        return caption + (f"; regard reaches {self.gemm_fraction:.0%} of it" if self.gemm_fraction is not None else "")
