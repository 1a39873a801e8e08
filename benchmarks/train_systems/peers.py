"""Where the peers' own virtual environments are, and which systems can run here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent.parent / ".venvs"
SYSTEMS = {
    "regard": "train_systems.regard_system",
    "regard_bf16": "train_systems.regard_bf16",
    "marian": "train_systems.marian",
    "torch_nn": "train_systems.torch_nn",
    "joeynmt": "train_systems.joeynmt",
    "eole": "train_systems.eole",
    "gemm": "train_systems.gemm",
}
"""The name of each system and the module that measures it. `gemm` is no trainer: it is what the machine allows."""
ON_REQUEST = ("regard_bf16",)
"""Left out unless they are named."""
OWN_ENVIRONMENT = ("joeynmt", "eole")


def python_of(peer: str) -> Path:
    """The Python of a peer's environment, which peers.sh makes."""
    return ENVIRONMENTS / peer / "bin" / "python"


def why_not(system: str) -> str | None:
    """Why a system cannot run here; None if it can."""
    if system in OWN_ENVIRONMENT and not (ENVIRONMENTS / system / ".installed").exists():
        return "not installed; benchmarks/peers.sh makes its environment"
    if system == "marian" and find_spec("transformers") is None:
        return "not installed; pip install transformers"
    return None
