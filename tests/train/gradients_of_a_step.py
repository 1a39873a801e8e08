"""One step of a small model by one or several processes; the leading one writes its gradients, whole, to a file.

`python gradients_of_a_step.py OUTPUT KEY=VALUE...`, with torchrun's environment variables for several processes.
"""

import os
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from regard.data.batches import collate
from regard.models import build_model
from regard.recipe import parse_config
from regard.train.loop import Trainer
from regard.train.precision import Precision
from regard.train.risk import Candidate
from regard.train.signals import StopRequest
from regard.train.team import team_of_torchrun

BATCHES, VOCABULARY = 2, 60
SIZES = {"width": 16, "feed_forward": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}


def batches():
    generator = torch.Generator().manual_seed(1)
    for number in range(BATCHES):
        rows = 5 + 3 * number
        sources, targets = (torch.randint(4, VOCABULARY, (rows, 6), generator=generator).tolist() for _ in range(2))
        yield collate(sources, [row[: 2 + number] for row in targets], range(rows))


def candidates(model, batch):
    """Made-up ones, more for one row than for another, and none for some."""
    return [
        [Candidate(row[1 : 2 + number].tolist(), -1.0 - number, 0.3 * number) for number in range(len(row) * place % 4)]
        for place, row in enumerate(batch.source)
    ]


def main(output: Path, overrides: list[str]) -> None:
    torch.set_num_threads(1)
    config = parse_config({"model": SIZES}, overrides)
    with team_of_torchrun(torch.device("cpu"), config.train.shard) as team:
        model = build_model(config.model, VOCABULARY, VOCABULARY)
        precision = Precision(os.environ.get("PRECISION", "fp32"), batch_tokens=config.train.batch_tokens)
        finder = candidates if config.train.risk else None
        trainer = Trainer(model, None, None, config, output.parent / "run", team, precision, finder)
        losses, _ = trainer._gradients(list(batches())[team.rank :: team.size], 1, StopRequest())
        trainer.precision.unscale(trainer.session.optimiser)
        norm = trainer._scale_and_clip(1.0)
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        whole = team.whole({**gradients, "loss": torch.tensor(losses.loss), "norm": torch.tensor(norm)})
        if team.leads:
            save_file(whole, output)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
