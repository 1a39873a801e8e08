"""Steps of training in two precisions, timed: `python -m regard.train.trial`, which `regard.train.probe` starts.

It reads a JSON object from standard input and prints one: the seconds of a step in float32 and in low precision.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch

from regard.config import ModelConfig
from regard.data.batches import collate
from regard.models import build_model
from regard.train.objective import Objective
from regard.train.precision import Precision

ROWS, LENGTH, ROUNDS = 16, 15, 5
HOPELESS = 2.0
"""How many times as slow a low precision must be to be given up after its second step."""


def seconds_of_a_step(trial: dict[str, Any]) -> dict[str, float]:
    """The least time that forward and backward pass took, by precision; they take turns, so that a noise hits both."""
    torch.set_num_threads(trial["threads"])
    vocabularies = trial["vocabularies"]
    objective = Objective(build_model(ModelConfig(**trial["model"]), *vocabularies), smoothing=0.1)
    generator = torch.Generator().manual_seed(0)
    sources, targets = (torch.randint(4, size, (ROWS, LENGTH), generator=generator).tolist() for size in vocabularies)
    batch = collate(sources, targets, range(ROWS))
    precisions = [Precision("fp32"), Precision(low := trial["precision"], own=trial["own"])]
    least = {precision.name: float("inf") for precision in precisions}
    for number in range(ROUNDS):
        if number > 1 and least[low] > HOPELESS * least["fp32"]:
            break
        for precision in precisions:
            before = time.perf_counter()
            with precision.autocast():
                loss = objective(batch)
            precision.backward(loss.total)
            least[precision.name] = min(least[precision.name], time.perf_counter() - before)
    return least


if __name__ == "__main__":
    print(json.dumps(seconds_of_a_step(json.load(sys.stdin))))
