"""What each lever does alone: runs that differ from a baseline in one thing, measured on validation data only.

    regard data multi30k
    python benchmarks/levers.py --steps 1500 --set train.warmup_steps=100 --seeds 1 2 3 --tokenize none --json out.json

Every run is an ordinary `regard train` in a folder of its own below `--runs`. A finished run is not done again, and
one that was interrupted goes on; so the same command goes on with whatever is left. Levers of the search need no
run of their own: they translate with the baseline's model. No file but those of the recipe's `data.train` and
`data.validation` is read.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from training_runs import FINISHED, train_once

from regard import progress
from regard.config import Config, TrainConfig
from regard.data.corpus import read_pairs
from regard.errors import RegardError
from regard.evaluate.metrics import bleu, chrf
from regard.figures import check_destination, publish, write_figures
from regard.recipe import load_config
from regard.search.translator import Translator

MEASURED = "measured.json"
BASELINE = "baseline"

LEVERS: dict[str, str] = {
    BASELINE: "",
    "no consistency": "train.consistency=0.0",
    "consistency 1": "train.consistency=1.0 train.self_distillation=0.0",
    "consistency 3": "train.consistency=3.0 train.self_distillation=0.0",
    "consistency from the start": "train.consistency_after=0",
    "consistency after 750 steps": "train.consistency=2.0 train.consistency_after=750 train.self_distillation=0.0",
    "moving average, no consistency": "train.consistency=0.0 train.ema=0.998",
    "minimum risk after 1,350 steps": "train.risk=10.0 train.risk_after=1350",
    "self-distillation": "train.consistency=0.0 train.ema=0.998 train.self_distillation=0.5",
    "BPE-dropout": "tokenizer.dropout=0.1",
    "BPE-dropout of the source": "tokenizer.dropout=0.1 tokenizer.dropout_side=source",
    "vocabulary 4,000": "tokenizer.vocabulary_size=4000",
    "vocabulary 10,000": "tokenizer.vocabulary_size=10000",
    "vocabulary 16,000": "tokenizer.vocabulary_size=16000",
    "width 256": "model.width=256 model.feed_forward=512",
    "feed-forward 512": "model.feed_forward=512",
    "6+6 layers": "model.encoder_layers=6 model.decoder_layers=6",
    "8+2 layers": "model.encoder_layers=8 model.decoder_layers=2",
    "dropout 0.1": "model.dropout=0.1",
    "dropout 0.2": "model.dropout=0.2",
    "dropout 0.3": "model.dropout=0.3",
    "dropout 0.4": "model.dropout=0.4",
    "dropout from the start": "train.dropout_warmup=0",
    "dropout that rises for 1,500 steps": "train.dropout_warmup=1500",
    "attention dropout": "model.attention_dropout=0.1",
    "activation dropout": "model.activation_dropout=0.1",
    "word dropout": "model.word_dropout=0.1",
    "rotary positions": "model.positions=rotary",
    "sinusoidal positions": "model.positions=sinusoidal",
    "learned positions": "model.positions=learned",
    "SwiGLU": "model.activation=swiglu",
    "pre-norm": "model.norm=pre",
    "post-norm": "model.norm=post",
    "Muon": "train.optimiser=muon train.learning_rate=3e-3 train.weight_decay=0.2",
    "Muon 0.005": "train.muon_learning_rate=0.005",
    "no weight decay": "train.weight_decay=0.0",
    "Adam": "train.optimiser=adam train.learning_rate=2e-3 train.weight_decay=0.0",
    "AdamW, decay 0.01": "train.optimiser=adamw train.learning_rate=2e-3 train.weight_decay=0.01",
    "EMA 0.999": "train.ema=0.999",
    "mean of last 5": "train.average_last=5",
    "mean of best 5": "train.average_best=5",
    "no smoothing": "train.label_smoothing=0.0",
    "smoothing 0.2": "train.label_smoothing=0.2",
    "batches of 1,024": "train.batch_tokens=1024",
    "batches of 2,048": "train.batch_tokens=2048",
    "batches of 4,096": "train.batch_tokens=4096",
    "batches of 8,192": "train.batch_tokens=8192",
    "cosine": "train.schedule=cosine",
    "linear": "train.schedule=linear",
    "warmup-stable-decay": "train.schedule=warmup-stable-decay",
    "no length penalty": "search.length_penalty=none",
    "the paper's length penalty": "search.length_penalty=paper search.alpha=0.6",
    "mean log-probability": "search.length_penalty=mean search.alpha=1.0",
    "greedy": "search.beam=1",
    "beam 10": "search.beam=10",
    "minimum Bayes risk": "search.beam=10 search.mbr=true",
}
"""The levers by name, each as keys over the recipe's; those that a recipe has pulled already are left out."""


@dataclass(frozen=True)
class Lever:
    """One change to the baseline."""

    name: str
    overrides: tuple[str, ...] = ()

    @property
    def of_search(self) -> bool:
        """Whether it only changes how translations are found."""
        return bool(self.overrides) and all(override.startswith("search.") for override in self.overrides)

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True)
class Measured:
    """One run, on validation data."""

    lever: str
    seed: int
    command: str
    loss: float
    bleu: float
    chrf: float
    signature: str
    minutes: float
    steps: int
    parameters: int


@dataclass(frozen=True)
class Table:
    """All runs, a row a lever."""

    recipe: str
    common: list[str]
    sentences: int
    runs: list[Measured]
    markdown: bool = field(default=False, kw_only=True)

    def rows(self) -> list[dict[str, Any]]:
        """Means over the seeds; `gain` is that in BLEU over the baseline."""
        found: list[dict[str, Any]] = []
        for name in dict.fromkeys(run.lever for run in self.runs):
            runs = [run for run in self.runs if run.lever == name]
            means = {key: mean(getattr(run, key) for run in runs) for key in ("loss", "bleu", "chrf", "minutes")}
            spread = stdev(run.bleu for run in runs) if len(runs) > 1 else None
            first = runs[0]
            facts = {"seeds": [run.seed for run in runs], "steps": first.steps, "parameters": first.parameters}
            found.append({"lever": name, **means, "bleu_spread": spread, **facts, "command": first.command})
        for row in found:
            row["gain"] = row["bleu"] - found[0]["bleu"] if found[0]["lever"] == BASELINE else None
        return found

    def to_json(self) -> dict[str, Any]:
        about = {"recipe": self.recipe, "common": self.common, "validation_sentences": self.sentences}
        return {**about, "rows": self.rows(), "runs": [asdict(run) for run in self.runs]}

    def to_text(self) -> str:
        head = ["lever", "loss", "BLEU", "gain", "chrF", "minutes", "parameters", "command"]
        lines = [
            head,
            *([*_cells(row), f"`{row['command']}`" if self.markdown else row["command"]] for row in self.rows()),
        ]
        about = f"{self.sentences:,} validation sentences; {self.runs[0].signature}"
        if self.markdown:
            lines.insert(1, ["---"] * len(head))
            return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), "", about])
        widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
        shown = ("".join(f"{cell:<{width + 2}}" for cell, width in zip(line, widths, strict=False)) for line in lines)
        return "\n".join([*(start + line[-1] for start, line in zip(shown, lines, strict=True)), "", about])


def _cells(row: dict[str, Any]) -> list[str]:
    spread = "" if row["bleu_spread"] is None else f" ± {row['bleu_spread']:.2f}"
    gain = "" if row["gain"] is None else f"{row['gain']:+.2f}"
    figures = [f"{row['loss']:.4f}", f"{row['bleu']:.2f}{spread}", gain, f"{row['chrf']:.2f}", f"{row['minutes']:.1f}"]
    return [row["lever"], *figures, f"{row['parameters']:,}"]


class Bench:
    """Trains what is not trained yet, and measures what is not measured yet."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.recipe, self.runs, self.tokenize = arguments.recipe, arguments.runs, arguments.tokenize
        self.common = [*arguments.set, *([f"train.max_steps={arguments.steps}"] if arguments.steps else [])]
        config = load_config(self.recipe, self.common)
        if not config.data.validation:
            raise RegardError(f"{self.recipe}: names no `data.validation`, on which levers are measured")
        if len(config.data.pairs) > 1:
            raise RegardError(f"{self.recipe}: has several pairs of languages; levers are measured on a recipe of one")
        steps, rising = config.train.max_steps, config.train.warmup_steps
        if steps <= rising:
            raise RegardError(
                f"{self.recipe}: {steps:,} steps end inside the warm-up of {rising:,}, "
                "where schedules are all alike; add --set train.warmup_steps=N, or take more --steps"
            )
        self.baseline = config
        pairs = [pair for corpus in config.data.validation for pair in read_pairs(corpus, config.data)]
        self.sources, self.references = [pair.source for pair in pairs], [pair.target for pair in pairs]

    def pulled(self, lever: Lever) -> bool:
        """Whether the recipe is so already, or has no use for what the lever sets."""
        if not lever.overrides:
            return False
        config = load_config(self.recipe, [*self.common, *lever.overrides])
        if any(override.startswith("train.optimiser=") for override in lever.overrides):
            return config.train.optimiser == self.baseline.train.optimiser
        return _in_use(config) == _in_use(self.baseline)

    def measure(self, lever: Lever, seed: int) -> Measured:
        """The figures of a lever's run, which is trained if need be."""
        given = [*self.common, *([] if lever.of_search else lever.overrides), f"seed={seed}"]
        folder = self.runs / f"{BASELINE if lever.of_search else lever.slug}-{seed}"
        command = f"regard train {self.recipe} --run {folder} {shlex.join(given)}"
        config = load_config(self.recipe, [*given, *(lever.overrides if lever.of_search else ())])
        train_once(self.recipe, folder, given)
        finished = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
        figures = self._translated(folder, config, lever)
        return Measured(
            lever=lever.name,
            seed=seed,
            command=f"{command}, then {shlex.join(lever.overrides)}" if lever.of_search else command,
            loss=finished["validation"]["loss"],
            minutes=finished["seconds"] / 60,
            steps=finished["steps"],
            parameters=finished["parameters"],
            **figures,
        )

    def _translated(self, folder: Path, config: Config, lever: Lever) -> dict[str, Any]:
        """BLEU and chrF of the whole validation data; kept beside the run."""
        path = folder / (f"{lever.slug}.{MEASURED}" if lever.of_search else MEASURED)
        asked = {"search": config.search.model_dump(mode="json"), "tokenize": self.tokenize}
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["asked"] == asked:
                return dict(kept["figures"])
        translator = Translator.load(folder)
        translator.config = translator.config.model_copy(update={"search": config.search})
        with progress.task(f"translating with {folder}", len(self.sources)) as work:
            hypotheses = translator.translate(self.sources, progress=work)
        score = bleu(hypotheses, self.references, config.data.target_language, tokenize=self.tokenize)
        figures = {"bleu": score.value, "chrf": chrf(hypotheses, self.references).value, "signature": score.signature}
        write_figures(path, {"asked": asked, "figures": figures})
        return figures


def _in_use(config: Config) -> Config:
    """A configuration without the settings that its optimiser does not look at."""
    if config.train.optimiser == "muon":
        return config
    idle = {name: field.default for name, field in TrainConfig.model_fields.items() if name.startswith("muon_")}
    return config.model_copy(update={"train": config.train.model_copy(update=idle)})


def chosen_levers(only: Sequence[str], own: Sequence[str]) -> list[Lever]:
    """The baseline first, then those asked for: of the list by name, or of one's own as `name: key=value ...`."""
    known = {name: Lever(name, tuple(shlex.split(keys))) for name, keys in LEVERS.items()}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise RegardError(f"no lever is called {unknown[0]!r}; there are: {', '.join(known)}")
    levers = [
        known[BASELINE],
        *(lever for name, lever in known.items() if name != BASELINE and (not only or name in only)),
    ]
    levers = levers[:1] if own and not only else levers
    for text in own:
        name, colon, keys = text.partition(":")
        if not colon or not name.strip() or not keys.split():
            raise RegardError(f"--lever {text!r}: write it as 'name: key=value key=value'")
        levers.append(Lever(name.strip(), tuple(shlex.split(keys))))
    slugs = [lever.slug for lever in levers]
    if len(set(slugs)) < len(slugs):
        raise RegardError("two levers have the same name: give each its own")
    return levers


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="recipes/multi30k-en-de-rdrop.toml")
    parser.add_argument("--runs", type=Path, default=Path("runs/levers"), help="folder of the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, help="train.max_steps of every run")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="for every run")
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="some of the levers; see --list")
    parser.add_argument(
        "--lever", metavar="'NAME: KEY=VALUE ...'", action="append", default=[], help="one of your own; repeatable"
    )
    parser.add_argument("--tokenize", help="BLEU's tokenization; by default the language's")
    parser.add_argument("--list", action="store_true", help="name the levers and leave")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    return parser.parse_args(given)


def measure_levers(arguments: argparse.Namespace) -> Table:
    """Every lever on every seed."""
    bench = Bench(arguments)
    levers = []
    for lever in chosen_levers(arguments.only, arguments.lever):
        if bench.pulled(lever):
            print(f"{lever.name}: left out, the recipe is so already", file=sys.stderr)
        else:
            levers.append(lever)
    runs = [bench.measure(lever, seed) for lever in levers for seed in arguments.seeds]
    return Table(arguments.recipe, bench.common, len(bench.sources), runs, markdown=arguments.markdown)


def main() -> None:
    arguments = parse()
    if arguments.list:
        print("\n".join(f"{name:<24}{keys}".rstrip() for name, keys in LEVERS.items()))
        return
    progress.show()
    try:
        check_destination(arguments.json)
        publish(measure_levers(arguments), arguments.json)
    except RegardError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
