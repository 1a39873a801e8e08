"""How much of the batches of a recipe's training corpus is padding, at several budgets of tokens.

    regard data multi30k
    python benchmarks/padding.py --json padding.json

`--data` names the folder of the corpora, if it is not the `data/` of the recipe.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import Config, CorpusConfig
from regard.data.batches import TrainingBatches, padding
from regard.data.corpus import read_pairs
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import RegardError
from regard.figures import publish
from regard.recipe import load_config


@dataclass(frozen=True)
class Budget:
    """One epoch at one budget."""

    batch_tokens: int
    batches: int
    pairs_a_batch: float
    padding: float


@dataclass(frozen=True)
class PaddingReport:
    corpus: list[str]
    pairs: int
    dropout: float
    budgets: list[Budget]

    def to_text(self) -> str:
        lines = [f"{self.pairs:,} pairs, BPE-dropout {self.dropout:g}", "batch_tokens  batches  pairs a batch  padding"]
        for budget in self.budgets:
            figures = f"{budget.batch_tokens:>12,}  {budget.batches:>7,}  {budget.pairs_a_batch:>13.0f}"
            lines.append(f"{figures}  {budget.padding:>7.1%}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "budgets": [vars(budget) for budget in self.budgets]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="recipes/multi30k-en-de-tiny.toml")
    parser.add_argument("--data", help="folder to read instead of the data/ of the recipe")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--dropout", type=float, default=0.0, help="BPE-dropout")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    arguments = parser.parse_args()
    try:
        config = load_config(arguments.recipe, [f"tokenizer.dropout={arguments.dropout}"])
        publish(measure(_moved(config, arguments.data), arguments.batch_tokens), arguments.json)
    except RegardError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def measure(config: Config, budgets: list[int]) -> PaddingReport:
    """The padding of the first epoch at each budget."""
    corpora = config.data.train
    pairs = (pair for corpus in corpora for pair in read_pairs(corpus, config.data))
    tokenizer = train_tokenizer((text for pair in pairs for text in (pair.source, pair.target)), config.tokenizer)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        prepared = PreparedCorpus.build(Path(folder), corpora, config.data, tokenizers)
        results = [_epoch(prepared, tokenizers, config, budget) for budget in budgets]
    files = [file for corpus in corpora for file in (corpus.source, corpus.target, corpus.pairs) if file]
    return PaddingReport(files, len(prepared), config.tokenizer.dropout, results)


def _epoch(prepared: PreparedCorpus, tokenizers: Tokenizers, config: Config, budget: int) -> Budget:
    train = config.train.model_copy(update={"batch_tokens": budget})
    epoch = TrainingBatches(prepared, tokenizers, config.model_copy(update={"train": train})).epoch(0)
    batches = [batch for batch, _ in epoch]
    return Budget(budget, len(batches), len(prepared) / len(batches), padding(batches))


def _moved(config: Config, folder: str | None) -> Config:
    """The same corpora, with `folder` in place of the leading data/ of their paths."""
    if folder is None:
        return config
    corpora = []
    for corpus in config.data.train:
        paths = {name: getattr(corpus, name) for name in ("source", "target", "pairs")}
        moved = {name: str(Path(folder, *Path(path).parts[1:])) for name, path in paths.items() if path}
        corpora.append(CorpusConfig(**{**corpus.model_dump(), **moved}))
    data = config.data.model_copy(update={"train": tuple(corpora)})
    return config.model_copy(update={"data": data})


if __name__ == "__main__":
    main()
