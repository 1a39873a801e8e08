"""Code that multiplies in low precision, run in a child process without the instructions of which some machines die."""

import os
import subprocess
import sys


def assert_says(word, code):
    """Run code that must print a word and nothing else; it can import what tests can."""
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert child.stdout == word + "\n", child.stderr
