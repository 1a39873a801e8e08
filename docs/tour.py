"""Runs the Python blocks of tour.md, in order, on the model of `regard demo`, and prints what each prints.

python docs/tour.py             print every block's output
python docs/tour.py --check     compare it with what the page quotes; leave with 1 where they differ
python docs/tour.py --update    write it into the page
python docs/tour.py --model runs/other
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch

PAGE = Path(__file__).parent / "tour.md"
DEMO = "runs/demo"
STEP = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<quoted>.*?)```\n", re.DOTALL)


class Step(NamedTuple):
    """A block of code, what the page says it prints, and what it prints."""

    code: str
    quoted: str
    printed: str


def run_tour(page: str, model: str | Path = DEMO) -> list[Step]:
    """Run the blocks one after another, as a reader would in one session, with another model if one is named."""
    session: dict[str, Any] = {}
    steps = []
    with torch.no_grad():  # the page switches gradients off; here that ends with the tour
        for found in STEP.finditer(page):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(found["code"].replace(DEMO, str(model)), str(PAGE), "exec"), session)
            steps.append(Step(found["code"], found["quoted"], output.getvalue()))
    return steps


def with_outputs(page: str, steps: list[Step]) -> str:
    """The page with the outputs of the steps in place of the quoted ones."""
    printed = iter(step.printed for step in steps)
    return STEP.sub(lambda found: f"```python\n{found['code']}```\n\n```text\n{next(printed)}```\n", page)


def main() -> int:
    """Print, check or update."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEMO, help="a model folder")
    parser.add_argument("--check", action="store_true", help="compare with what the page quotes")
    parser.add_argument("--update", action="store_true", help="write the outputs into the page")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    steps = run_tour(page, options.model)
    if options.update:
        PAGE.write_text(with_outputs(page, steps), encoding="utf-8")
    wrong = [step for step in steps if step.printed != step.quoted]
    for step in wrong if options.check else steps:
        print(f"{step.code}\n{step.printed}" + (f"\nbut the page says:\n{step.quoted}" if options.check else ""))
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
