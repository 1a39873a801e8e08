"""JoeyNMT, by its own training command, in its own virtual environment, with its own batches of as many tokens."""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from train_systems import settings
from train_systems.following import follow, running
from train_systems.measuring import Measurement, Task, Window, read_task, report
from train_systems.peers import python_of
from train_systems.settings import SOURCE, TARGET, Shape

STEP = re.compile(r"Step: +(\d+), .*Tokens per Sec: +(\d+)")
PARAMETERS = re.compile(r"Total params: (\d+)")
NEVER = 10**6


def configuration(task: Task, run: Path) -> dict[str, Any]:
    """Its configuration. Its dropout also falls on the attention weights: it has one setting for all."""

    def side(language: str) -> dict[str, Any]:
        words = str(task.work / "vocabulary.txt")
        return {"lang": language, "level": "word", "voc_file": words, "max_length": settings.MAX_TOKENS}

    return {
        "name": "train_speed",
        "model_dir": str(run),
        "use_cuda": False,
        "fp16": False,
        "random_seed": settings.SEED,
        "data": {
            "train": str(task.work / "train"),
            "dev": str(task.work / "valid"),
            "dataset_type": "plain",
            "src": side(SOURCE),
            "trg": side(TARGET),
        },
        "testing": {"batch_size": settings.BATCH_TOKENS, "batch_type": "token", "eval_metrics": []},
        "training": {
            "optimizer": "adam",
            "adam_betas": list(settings.BETAS),
            "normalization": "tokens",
            "learning_rate": settings.LEARNING_RATE,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": settings.WARMUP_STEPS,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": settings.LABEL_SMOOTHING,
            "batch_size": settings.BATCH_TOKENS,
            "batch_type": "token",
            "epochs": NEVER,
            "validation_freq": NEVER,
            "logging_freq": 1,
            "early_stopping_metric": "loss",
            "overwrite": True,
        },
        "model": _model(task.shape),
    }


def _model(shape: Shape) -> dict[str, Any]:
    def stack(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": shape.heads,
            "hidden_size": shape.width,
            "ff_size": shape.feed_forward,
            "dropout": settings.DROPOUT,
            "layer_norm": "post",
            "activation": "relu",
            "embeddings": {"embedding_dim": shape.width, "scale": True, "dropout": settings.DROPOUT},
        }

    return {
        "initializer": "xavier_uniform",
        "bias_initializer": "zeros",
        "embed_initializer": "normal",
        "embed_init_weight": shape.width**-0.5,
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": stack(shape.encoder_layers),
        "decoder": stack(shape.decoder_layers),
    }


class Log:
    """Its log tells the speed of each step but not its tokens: they are that speed over the time between two lines."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._tokens = 0.0
        self._time: float | None = None
        self.parameters: int | None = None

    def line(self, line: str, now: float) -> bool:
        """Take a line that came at `now`; True when the window is full."""
        if found := PARAMETERS.search(line):
            self.parameters = int(found[1])
        found = STEP.search(line)
        if found is None:
            return False
        step, speed = int(found[1]), float(found[2])
        self._tokens += speed * (now - self._time) if self._time is not None else 0.0
        self._time = now
        return self._window.add(step, self._tokens, now)


def measure(task: Task) -> Measurement:
    with tempfile.TemporaryDirectory(dir=task.work) as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(json.dumps(configuration(task, Path(folder) / "run")))  # all JSON is YAML
        command = [python_of("joeynmt"), "-m", "joeynmt", "train", path, "--skip-test"]
        with running(command, Path(folder), task.threads) as training:
            window = Window(task.seconds)
            log = Log(window)
            follow(training, lambda line: log.line(line, time.perf_counter()))
            return window.measurement(training.sample_memory(), log.parameters)


def main() -> None:
    report(measure(read_task(__doc__)))


if __name__ == "__main__":
    main()
