"""The demonstration: a Transformer learns the built-in corpus in minutes, is measured, and shows its attention."""

from regard.demo.result import DemoResult
from regard.demo.run import run_demo

__all__ = ["DemoResult", "run_demo"]
