"""regard once more, with products of bfloat16: no peer of systems in fp32, and measured on request only."""

from __future__ import annotations

from train_systems.measuring import read_task, report
from train_systems.regard_system import measure


def main() -> None:
    report(measure(read_task(__doc__), "bf16"))


if __name__ == "__main__":
    main()
