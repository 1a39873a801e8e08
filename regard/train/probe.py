"""Low precision on a CPU only where a child process has shown that it runs there, and is faster.

A CPU, or what pretends to be one, may claim instructions for low precision and then die of them; or have none, and be
slow.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.atomic import write_file
from regard.config import Config
from regard.models.contract import SequenceToSequence
from regard.native.forms import Form, form_of_bf16
from regard.progress import note, task
from regard.train.precision import NAMES, Precision, choose_precision, has_own_products
from regard.train.team import Team

COMMAND = (sys.executable, "-m", "regard.train.trial")
PATIENCE_SECONDS = 120.0
MEMORY = "precision.json"
PRODUCTS = "products"
"""The key of a run's memory that says which of the MAKERS made its products in low precision when it began."""
MAKERS = {Form.PAIRS: "regard's in vectors", Form.ROUNDED_TILES: "regard's in tiles", None: "torch's"}


@dataclass(frozen=True)
class Finding:
    """What came of a trial, and why."""

    runs: bool
    faster: bool
    reason: str


def probe(trial: dict[str, Any], command: Sequence[str] = COMMAND, patience: float = PATIENCE_SECONDS) -> Finding:
    """Let a child process time some steps; whatever happens to it, this process goes on."""
    try:
        child = subprocess.run(
            command, input=json.dumps(trial).encode(), capture_output=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding(False, False, f"a trial was not over after {patience:g} seconds")
    except OSError as error:
        return Finding(False, False, f"a trial could not be started ({error.strerror})")
    if child.returncode:
        return Finding(False, False, f"a trial {_end(child.returncode)}")
    try:
        seconds = json.loads(child.stdout)
        ratio = float(seconds["fp32"]) / float(seconds[trial["precision"]])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return Finding(False, False, "a trial gave no times")
    return Finding(True, ratio > 1, f"in a trial its steps took {1 / ratio:.2f} times as long as those of fp32")


def _end(code: int) -> str:
    if code > 0:
        return f"failed with exit code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"


def agreed_precision(
    config: Config, model: SequenceToSequence, run: Path, device: torch.device, team: Team
) -> Precision:
    """The precision of a run, which the leading process finds out and tells the others.

    Products of our own are made by all processes or by none, so that what each makes of the weights stays the same.
    """
    name, wanted = "fp32", config.train.precision
    own = all(said for (said,) in team.gathered([has_own_products(wanted, device, config.model)]))
    if team.leads:
        name = choose_precision(wanted, device, lambda wanted: _tried(wanted, config, model, run, own))
    name = NAMES[int(team.told([NAMES.index(name)])[0])]
    return Precision(name, device, config.train.batch_tokens, own and name == wanted)


def _tried(wanted: str, config: Config, model: SequenceToSequence, run: Path, own: bool) -> str:
    """What a wanted precision comes to here.

    A run keeps what its first trial found, so that it ends with the same bits whenever it was interrupted; save that
    what does not run on the machine at hand cannot be kept.
    """
    before = _remembered(run)
    began_in = before.get(wanted)
    if began_in == "fp32":
        note(f"going on in fp32: {wanted} was not faster when this run began")
        return "fp32"
    vocabularies = [model.source_embedding.table.num_embeddings, model.target_embedding.table.num_embeddings]
    trial = dict(
        precision=wanted,
        model=config.model.model_dump(),
        vocabularies=vocabularies,
        threads=torch.get_num_threads(),
        own=own,
    )
    with task(f"trying {wanted}"):
        finding = probe(trial)
    used = wanted if finding.faster or (finding.runs and began_in) else "fp32"
    whose = MAKERS[form_of_bf16() if own else None]
    how = " by products of our own" if own and used == wanted else ""
    note(f"training in {used}{how}: {wanted} was asked for, and {finding.reason}")
    if not began_in:
        write_file(run / MEMORY, json.dumps({**before, wanted: used, PRODUCTS: whose}).encode())
    elif used == wanted and (first := before.get(PRODUCTS, whose)) != whose:
        note(f"its products were {first} when this run began, and are {whose} now: it will end with other bits")
    return used


def _remembered(run: Path) -> dict[str, str]:
    """What became of a precision that was wanted, and whose PRODUCTS it had."""
    try:
        values = json.loads((run / MEMORY).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {key: value for key, value in values.items() if value in (MAKERS.values() if key == PRODUCTS else NAMES)}
