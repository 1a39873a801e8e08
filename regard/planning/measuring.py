"""Finding the facts of a run: the machine, a sample of the text, the model, and a few real steps."""

from __future__ import annotations

import tempfile
from pathlib import Path

from regard.config import Config
from regard.errors import ConfigError
from regard.models.describe import Description, describe
from regard.pipeline import check_lengths, device_of
from regard.planning.facts import MEMORY_SHARE, Facts
from regard.planning.machine import look_at_machine
from regard.planning.text import look_at_text
from regard.planning.trying import Trying
from regard.train.processes import processes_for


def find_facts(config: Config, run: Path, steps: int) -> Facts:
    """Find out what the run of a configuration takes, kept in the folder `run`, by `steps` steps of it."""
    if not config.data.train:
        raise ConfigError("`data.train` names no corpus: give it a source and a target file")
    machine = look_at_machine(run)
    device = device_of(config)
    processes = processes_for(config.train, device)
    threads = max(1, (config.train.threads or machine.cores) // processes)
    with tempfile.TemporaryDirectory(prefix="regard-plan-") as name:
        folder = Path(name)
        text = look_at_text(config, run, folder)
        check_lengths(config, text.tokenizers)
        sizes = (text.tokenizers.source.vocabulary_size, text.tokenizers.target.vocabulary_size)
        described, epoch = describe(config, *sizes), text.epoch(config)
        memory = None if machine.memory is None else MEMORY_SHARE * machine.memory
        tried = Trying(config, text, epoch, described.parameters, processes, threads, steps, memory, folder).run()
    return Facts(
        machine,
        str(device),
        text.sample.total,
        text.sample.pairs,
        text.sample.whole,
        sizes,
        text.vocabulary_from,
        by_part(described),
        epoch.scaled(text.factor),
        processes,
        threads,
        tried.memory,
        tried.killed_at,
        tried.speed,
        tried.costs,
    )


def by_part(described: Description) -> dict[str, int]:
    """Parameters of the embeddings, the encoder, the decoder and the output layer; shared ones count once."""
    parts: dict[str, int] = {}
    for part in described.parts:
        name = part.name.split(".")[0].split("_")[0]
        name = "embeddings" if name in ("source", "target") else name
        parts[name] = parts.get(name, 0) + part.parameters
    return {name: count for name, count in parts.items() if count}
