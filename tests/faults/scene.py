"""Where runs are interrupted: a tiny run with all in it that could spoil a resume, started in milliseconds.

Dropout, BPE-dropout, accumulation, a moving average and the mean of the last checkpoints are on. A run is the command
`regard train` itself, in a process forked from a server that has torch loaded; it may be given hooks, which are
installed before the command begins and interfere with it.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Protocol

from warm import have_a_worker_ready

from regard.data.builtin import generate
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers
from regard.models.folder import CONFIG, WEIGHTS, load_model
from regard.recipe import format_config, load_config, parse_config
from regard.train.checkpoint import CheckpointStore
from regard.train.log import LOG, read_log

STEPS, EVERY = 16, 2
PATIENCE = 120
"""Seconds after which an attempt counts as hung; it says where it hangs, and its code is that of `timeout`."""
HUNG = 124

_LOADED = ["__main__", "scene", "regard.cli", "regard.pipeline", "torch._dynamo", "matplotlib.backends.backend_agg"]


@cache
def server() -> Any:
    """Where processes come from: a small server that has torch loaded, and the modules of this folder."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), before]))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


class Hook(Protocol):
    """Something that changes what a run meets; it is installed in the run's own process."""

    def install(self) -> None: ...


@dataclass(frozen=True)
class End:
    """How an attempt ended: its exit code, negative for the signal that killed it, and what it said."""

    code: int
    said: str
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether it spoke like a program that knows what it does."""
        return "Traceback" not in self.said and "a fault in regard itself" not in self.said


@dataclass
class Attempt:
    """A run under way."""

    process: Any
    output: Path
    worker: Any
    started: float = field(default_factory=time.monotonic)

    def kill(self, worker: bool = False) -> bool:
        """Send SIGKILL to the leading process, or to the other one; False if it had ended."""
        if worker and not self.worker.value:
            return False
        try:
            os.kill(self.worker.value if worker else self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def running_after(self, seconds: float) -> bool:
        self.process.join(seconds)
        return self.process.exitcode is None

    def running_until(self, happened: Callable[[], Any]) -> bool:
        """Wait for something to happen; False if the run ended before."""
        while not happened():
            if not self.running_after(0.01):
                return False
        return True

    def wait(self) -> End:
        # One second at a time: those in which all processes are suspended do not count.
        hung = all(self.running_after(1.0) for _ in range(PATIENCE))
        if hung:
            self.kill()
            self.process.join()
        said = self.output.read_text(encoding="utf-8", errors="replace")
        self.output.unlink()
        return End(HUNG if hung else self.process.exitcode, said, time.monotonic() - self.started)


class Scene:
    """A corpus, recipes, and how runs of them end that are left alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._alone: dict[int, tuple[Path, End]] = {}
        self._runs = 0

    @cached_property
    def _corpus(self) -> dict[str, list[dict[str, str]]]:
        corpus = generate("fr")
        parts = {"train": corpus.train[:64], "validation": corpus.validation[:8]}
        for name, pairs in parts.items():
            for language, side in (("en", "source"), ("fr", "target")):
                text = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
                (self.folder / f"{name}.{language}").write_text(text, encoding="utf-8")
        folder = self.folder
        return {name: [{"source": f"{folder}/{name}.en", "target": f"{folder}/{name}.fr"}] for name in parts}

    def recipe(self, processes: int = 1) -> Path:
        path = self.folder / f"recipe-{processes}.toml"
        if not path.exists():
            path.write_text(format_config(parse_config(self._settings(processes))))
        return path

    def _settings(self, processes: int) -> dict[str, Any]:
        sizes = {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
        return {
            "data": {"source_language": "en", "target_language": "fr", **self._corpus},
            "tokenizer": {"vocabulary_size": 400, "dropout": 0.1},
            "model": {**sizes, "dropout": 0.1},
            "train": {
                "max_steps": STEPS,
                "validate_every": EVERY,
                "batch_tokens": 256,
                "accumulate": 2,
                "processes": processes,
                "threads": 1,
                "warmup_steps": 4,
                "validation_sentences": 2,
                "log_every": 1,
                "ema": 0.9,
                "average_last": 2,
            },
            "search": {"max_length_factor": 0.2, "max_length_extra": 3},
        }

    def new_run(self) -> Path:
        self._runs += 1
        return self.folder / "runs" / f"{self._runs}"

    def start(self, run: Path, processes: int = 1, hooks: Sequence[Hook] = ()) -> Attempt:
        """Begin the run in a folder, or go on with it."""
        handle, name = tempfile.mkstemp(prefix="said-", dir=self.folder)
        os.close(handle)
        worker = server().RawValue("i", 0)
        arguments = (self.recipe(processes), run, Path(name), worker if processes > 1 else None, tuple(hooks))
        process = server().Process(target=_train, args=arguments)
        process.start()
        return Attempt(process, Path(name), worker)

    def left_alone(self, processes: int = 1) -> tuple[Path, End]:
        """A run that nobody disturbed, and how it ended; made once."""
        if processes not in self._alone:
            run = self.folder / f"left-alone-{processes}"
            end = self.start(run, processes).wait()
            if end.code or not end.clean or problems(run):
                raise RuntimeError(f"the run left alone failed: {end.code} {problems(run)}\n{end.said}")
            self._alone[processes] = (run, end)
        return self._alone[processes]

    def differences(self, run: Path, processes: int = 1) -> list[str]:
        """In what a finished run is not as the one left alone."""
        return differences(run, self.left_alone(processes)[0])


class SceneWithModel(Scene):
    """Runs that need the model of another run."""

    def __init__(self, folder: Path, model: Path) -> None:
        super().__init__(folder)
        folder.mkdir()
        self._model = model


class TunedScene(SceneWithModel):
    """Runs that begin with another model (`model.start`), by Muon, with two passes over each batch."""

    def _settings(self, processes: int) -> dict[str, Any]:
        settings = super()._settings(processes)
        settings["model"]["start"] = str(self._model)
        settings["train"] |= {"optimiser": "muon", "consistency": 1.0}
        return settings


class TaughtScene(SceneWithModel):
    """Runs that ask another model about their text before the first step, and learn from what it says."""

    def _settings(self, processes: int) -> dict[str, Any]:
        settings = super()._settings(processes)
        settings["tokenizer"]["dropout"] = 0.0  # what is asked once is the same in every pass
        settings["train"] |= {"teachers": [str(self._model)], "distillation": 0.5, "teacher_tokens": 8}
        return settings


def differences(run: Path, alone: Path) -> list[str]:
    """In what a finished run is not as one that was left alone."""
    found = problems(run)
    if not (run / WEIGHTS).exists() or (run / WEIGHTS).read_bytes() != (alone / WEIGHTS).read_bytes():
        found.append(f"{run / WEIGHTS}: other weights than those of the run left alone")
    if _validations(run) != _validations(alone):
        found.append(f"{run / LOG}: other validations than those of the run left alone")
    found += [f"{path}: left behind" for path in leftovers(run)]
    return found


def leftovers(run: Path) -> list[Path]:
    """What a write that was cut off left, under a hidden name."""
    return [path for path in run.rglob(".*") if path.name.endswith((".part", ".gone"))]


def problems(run: Path) -> list[str]:
    """All that cannot be read in the folder of a run, whatever state it is in."""
    store = CheckpointStore(run / "checkpoints")
    readers = {
        run / CONFIG: lambda: load_config(run / CONFIG),
        run / LOG: lambda: read_log(run / LOG),
        run / "tokenizer.json": lambda: Tokenizers.load(run),
        run / WEIGHTS: lambda: load_model(run),
        run / "checkpoints": lambda: [
            checkpoint.tensors() for checkpoint in (store.latest(), store.best()) if checkpoint
        ],
    }
    if any(path.is_dir() and not path.name.startswith(".") for path in run.glob("prepared/*")):
        readers[run / "prepared"] = lambda: PreparedCorpus.open(run / "prepared")
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path, read in readers.items():
            try:
                if path.exists():
                    read()
            except Exception as error:
                found.append(f"{path}: {type(error).__name__}: {error}")
    return found


def _validations(run: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run / LOG).read_text().splitlines()] if (run / LOG).exists() else []
    return [{**line, "seconds": None} for line in lines if line["kind"] == "validation"]


def _train(recipe: Path, run: Path, output: Path, worker: Any, hooks: Sequence[Hook]) -> None:
    """What the process of an attempt does."""
    from regard import cli

    handle = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(handle, stream)
    faulthandler.dump_traceback_later(PATIENCE - 5)
    if worker is not None:
        worker.value = have_a_worker_ready()
    for hook in hooks:
        hook.install()
    cli.main(["train", str(recipe), "--run", str(run)])
