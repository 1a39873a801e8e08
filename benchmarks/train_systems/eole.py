"""eole, by its own training command, in its own virtual environment, with its own batches of as many tokens."""

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

STEP = re.compile(r"Step +(\d+)/.*bsz: +\d+/ *(\d+)/")
PARAMETERS = re.compile(r"number of parameters: ([\d,]+)")
NEVER = 10**6


def configuration(task: Task, run: Path) -> dict[str, Any]:
    """Its configuration. Its decoder knows pre-norm only, so that is what both halves have."""
    return {
        "seed": settings.SEED,
        "share_vocab": True,
        "src_vocab": str(task.work / "vocabulary.txt"),
        "src_vocab_size": settings.VOCABULARY,
        "tgt_vocab_size": settings.VOCABULARY,
        "vocab_size_multiple": 1,
        "overwrite": True,
        "report_every": 1,
        "data": {
            "corpus": {
                "path_src": str(task.work / f"train.{SOURCE}"),
                "path_tgt": str(task.work / f"train.{TARGET}"),
                "transforms": [],
            }
        },
        "training": {
            "model_path": str(run),
            "world_size": 1,
            "gpu_ranks": [],
            "compute_dtype": "fp32",
            "batch_type": "tokens",
            "batch_size": settings.BATCH_TOKENS,
            "normalization": "tokens",
            "bucket_size": 1 << 15,
            "num_workers": 0,
            "optim": "adam",
            "adam_beta1": settings.BETAS[0],
            "adam_beta2": settings.BETAS[1],
            "adam_eps": settings.EPSILON,
            "learning_rate": settings.LEARNING_RATE * settings.WARMUP_STEPS**0.5,
            "decay_method": "rsqrt",
            "warmup_steps": settings.WARMUP_STEPS,
            "max_grad_norm": 0.0,
            "dropout": [settings.DROPOUT],
            "attention_dropout": [0.0],
            "label_smoothing": settings.LABEL_SMOOTHING,
            "param_init_method": "xavier_uniform",
            "log_attention_entropy": False,
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
        },
        "model": _model(task.shape),
    }


def _model(shape: Shape) -> dict[str, Any]:
    return {
        "architecture": "transformer",
        "hidden_size": shape.width,
        "transformer_ff": shape.feed_forward,
        "heads": shape.heads,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "mlp_activation_fn": "relu",
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "generator_bias": False,
        "embeddings": {
            "word_vec_size": shape.width,
            "position_encoding_type": "SinusoidalInterleaved",
        },
        "encoder": {"encoder_type": "transformer", "layers": shape.encoder_layers},
        "decoder": {"decoder_type": "transformer", "layers": shape.decoder_layers},
    }


class Log:
    """Its log tells the mean of real target tokens in a batch since the line before; the time is ours."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._step = self._tokens = 0
        self.parameters: int | None = None

    def line(self, line: str, now: float) -> bool:
        """Take a line that came at `now`; True when the window is full."""
        if found := PARAMETERS.search(line):
            self.parameters = int(found[1].replace(",", ""))
        found = STEP.search(line)
        if found is None:
            return False
        step = int(found[1])
        self._tokens += int(found[2]) * (step - self._step)
        self._step = step
        return self._window.add(step, self._tokens, now)


def measure(task: Task) -> Measurement:
    with tempfile.TemporaryDirectory(dir=task.work) as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(json.dumps(configuration(task, Path(folder) / "run")))  # all JSON is YAML
        command = [python_of("eole").parent / "eole", "train", "-config", path]
        with running(command, Path(folder), task.threads) as training:
            window = Window(task.seconds)
            log = Log(window)
            follow(training, lambda line: log.line(line, time.perf_counter()))
            return window.measurement(training.sample_memory(), log.parameters)


def main() -> None:
    report(measure(read_task(__doc__)))


if __name__ == "__main__":
    main()
