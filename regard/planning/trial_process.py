"""The process that tries steps of a run, so that what kills them kills it alone.

`python -m regard.planning.trial_process` takes one request a line on standard input, and answers each with a line of
JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from regard.config import Config
from regard.data.corpus import read_pairs
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers
from regard.errors import RegardError
from regard.models.folder import load_model, model_weights
from regard.models.teachers import read_teachers
from regard.pipeline import PREPARED, build_validator, device_of, train_run
from regard.planning.machine import own_memory
from regard.recipe import load_config
from regard.train.checkpoint import CHECKPOINTS, Checkpoint, CheckpointStore
from regard.train.processes import end_with, processes_for
from regard.train.sayings import record_of, said_of
from regard.train.signals import Interrupted
from regard.train.threads import threads_for, torch_threads
from regard.train.validation import Validator
from regard.translated.makers import Makers

ASKED_PAIRS = 256
MADE_PAIRS = 256


def offer_itself_to_the_killer() -> None:
    """When memory runs out, let the system end this process rather than somebody else's."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def train(config: Config, run: Path) -> dict[str, Any]:
    """Train a short run, and give the memory that this process has held so far."""
    train_run(config, run)
    peak, files = own_memory()
    return {"peak": peak, "files": files}


def judge(config: Config, run: Path) -> dict[str, Any]:
    """What a checkpoint and a validation of a finished short run take; the times are None without validation data."""
    checkpoint = Checkpoint.open(next((run / CHECKPOINTS).iterdir()))
    tensors = checkpoint.tensors()
    started = time.monotonic()
    saved = CheckpointStore(run / "again").save(checkpoint.step, tensors, checkpoint.facts)
    saving = time.monotonic() - started
    size = sum(path.stat().st_size for path in saved.iterdir())
    figures: dict[str, Any] = {"checkpoint_bytes": size, "checkpoint_seconds": saving, "loss_seconds": None}
    if not config.data.validation:
        return figures
    loaded = load_model(run)
    validator = build_validator(config, loaded.tokenizers)
    assert validator is not None
    with torch_threads(threads_for(config.train, processes_for(config.train, device_of(config)))):
        started = time.monotonic()
        Validator(validator.batches).judge(loaded.model, model_weights(loaded.model))
        figures["loss_seconds"] = time.monotonic() - started
        started = time.monotonic()
        if validator.bleu is not None:
            validator.bleu(loaded.model)
        return {**figures, "bleu_seconds": time.monotonic() - started}


def ask(config: Config, run: Path) -> dict[str, Any]:
    """The seconds that one process takes to ask its teachers about so many tokens, and the bytes kept of each."""
    prepared = PreparedCorpus.open(run / PREPARED)
    vocabulary = Tokenizers.load(run).target.vocabulary_size
    teacher = read_teachers(config).model.to(device_of(config)).requires_grad_(False)
    record = record_of(config, vocabulary)
    processes = processes_for(config.train, device_of(config))
    with torch_threads(threads_for(config.train, processes)):
        started = time.monotonic()
        asked = said_of(teacher, prepared, np.arange(min(ASKED_PAIRS, len(prepared))), config, record)
        return {"seconds": time.monotonic() - started, "tokens": len(asked), "bytes": record.itemsize}


def make(config: Config, run: Path) -> dict[str, Any]:
    """The seconds that models take to make a side of a pair, for each corpus of which they make one, by its number.

    A model that has learned nothing does not know when to stop, so nothing gets longer than the mean of real text.
    """
    prepared = PreparedCorpus.open(run / PREPARED)
    seconds: dict[str, float] = {}
    for number, corpus in enumerate(config.data.train):
        if not corpus.made_by:
            continue
        makers = Makers.load(corpus.made_by, back=bool(corpus.source_by))
        side = prepared.source if makers.back else prepared.target
        pairs = list(islice(read_pairs(corpus, config.data), MADE_PAIRS))
        texts = [pair.target if makers.back else pair.source for pair in pairs]
        translator, longest = makers.between(config.data.pair_of(corpus)), 1 + len(side.values) // max(1, len(side))
        with torch_threads(threads_for(config.train, processes=1)):
            translator.translate_nbest(texts[:1], 1, max_length=longest)  # what is done but once takes no time a pair
            started = time.monotonic()
            translator.translate_nbest(texts, 1, max_length=longest)
            seconds[str(number)] = (time.monotonic() - started) / len(pairs)
    return seconds


REQUESTS = {"train": train, "judge": judge, "ask": ask, "make": make}


def answer_to(wish: str, config: Path, run: Path) -> dict[str, Any]:
    """Do what is asked; `refused` says in a sentence what the user did wrong, `out_of_memory` needs none."""
    try:
        return REQUESTS[wish](load_config(config), run)
    except RegardError as error:
        return {"refused": str(error)}
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error).lower():
            return {"out_of_memory": True}
        raise


def main() -> None:
    """Answer until no more is asked, or until somebody wants this to stop."""
    end_with(os.getppid())
    offer_itself_to_the_killer()
    answers = sys.stdout
    sys.stdout = sys.stderr
    with suppress(Interrupted):
        answer_all(answers)


def answer_all(answers: TextIO) -> None:
    """One answer for each line that comes in."""
    for line in sys.stdin:
        request = json.loads(line)
        print(
            json.dumps(answer_to(request["do"], Path(request["config"]), Path(request["run"]))),
            file=answers,
            flush=True,
        )


if __name__ == "__main__":
    main()
