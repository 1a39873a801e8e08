"""Lays out what all systems train on: one vocabulary, the same token ids as regard's run, as batches and as text.

Fills a folder with
  run/                 tokenizer.json and the prepared corpus, from which a run of regard begins
  tiny.toml, ...       regard's recipe of each shape
  batches.safetensors  one epoch of regard's batches in their order, for the systems that take tensors
  train.en, train.de   the same pairs for the systems that take text: token ids as words ("t17"), one space between
  valid.en, valid.de   a few of them, for systems that will not start without
  vocabulary.txt       those words, in the order of their ids
  facts.json           counts
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from regard.config import Config
from regard.data.batches import TrainingBatches
from regard.data.corpus import read_pairs
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.data.vocabulary import SPECIAL_TOKENS
from regard.models import build_model
from regard.recipe import format_config, parse_config
from train_systems import settings
from train_systems.settings import SHAPES, SOURCE, TARGET, Shape

NEVER = 10**6
"""More steps than any measurement takes."""
VALIDATION_PAIRS = 50


def recipe(shape: Shape, data: Path) -> Config:
    """The run of regard that is measured: nothing but the sizes and what the other systems are given, too."""
    corpus = {"source": str(data / f"train.{SOURCE}.gz"), "target": str(data / f"train.{TARGET}.gz")}
    values = {
        "seed": settings.SEED,
        "data": {
            "source_language": SOURCE,
            "target_language": TARGET,
            "train": [corpus],
            "max_tokens": settings.MAX_TOKENS,
        },
        "tokenizer": {"kind": "bpe", "vocabulary_size": settings.VOCABULARY, "shared": True},
        "model": {
            "encoder_layers": shape.encoder_layers,
            "decoder_layers": shape.decoder_layers,
            "width": shape.width,
            "feed_forward": shape.feed_forward,
            "heads": shape.heads,
            "dropout": settings.DROPOUT,
            "attention_dropout": 0.0,
            "norm": "post",
            "tie": "three-way",
        },
        "train": {
            "batch_tokens": settings.BATCH_TOKENS,
            "optimiser": "adam",
            "beta1": settings.BETAS[0],
            "beta2": settings.BETAS[1],
            "epsilon": settings.EPSILON,
            "learning_rate": settings.LEARNING_RATE,
            "warmup_steps": settings.WARMUP_STEPS,
            "schedule": "inverse-square-root",
            "label_smoothing": settings.LABEL_SMOOTHING,
            "max_steps": NEVER,
            "validate_every": NEVER,
            "log_every": 1,
        },
    }
    return parse_config(values, where="the benchmark's recipe")


def prepare(data: Path, work: Path) -> dict[str, int]:
    """Fill the folder `work`; give the counts that are in its facts.json."""
    config = recipe(SHAPES["tiny"], data)  # the data and the tokenizer are those of every shape
    work.mkdir(parents=True, exist_ok=True)
    pairs = (pair for corpus in config.data.train for pair in read_pairs(corpus, config.data))
    both = train_tokenizer((text for pair in pairs for text in (pair.source, pair.target)), config.tokenizer)
    tokenizers = Tokenizers(both, both)
    (work / "run").mkdir(exist_ok=True)
    tokenizers.save(work / "run")
    prepared = PreparedCorpus.build(work / "run" / "prepared", config.data.train, config.data, tokenizers)
    facts = {"vocabulary": both.vocabulary_size, "pairs": len(prepared)}
    facts |= _write_batches(work / "batches.safetensors", TrainingBatches(prepared, tokenizers, config))
    _write_text(work, prepared, both.vocabulary_size)
    for shape in SHAPES.values():
        shaped = recipe(shape, data)
        (work / f"{shape.name}.toml").write_text(format_config(shaped), encoding="utf-8")
        model = build_model(shaped.model, both.vocabulary_size, both.vocabulary_size, shaped.seed)
        facts[f"{shape.name}_parameters"] = sum(parameter.numel() for parameter in model.parameters())
    (work / "facts.json").write_text(json.dumps(facts))
    return facts


def _write_batches(path: Path, batches: TrainingBatches) -> dict[str, int]:
    tensors: dict[str, Tensor] = {}
    counts = {"batches": 0, "source_tokens": 0, "target_tokens": 0}
    for number, (batch, _) in enumerate(batches.epoch(0)):
        tensors[f"{number}.source"] = batch.source
        tensors[f"{number}.target_input"] = batch.target_input
        tensors[f"{number}.target_output"] = batch.target_output
        counts["batches"] += 1
        counts["source_tokens"] += batch.source_tokens
        counts["target_tokens"] += batch.tokens
    save_file(tensors, path)
    return counts


def _write_text(work: Path, prepared: PreparedCorpus, vocabulary: int) -> None:
    for language, side in ((SOURCE, prepared.source), (TARGET, prepared.target)):
        lines = [" ".join(f"t{token}" for token in side.row(row)) + "\n" for row in range(len(prepared))]
        (work / f"train.{language}").write_text("".join(lines), encoding="ascii")
        (work / f"valid.{language}").write_text("".join(lines[:VALIDATION_PAIRS]), encoding="ascii")
    (work / "vocabulary.txt").write_text("".join(f"{word}\n" for word in _words(vocabulary)), encoding="ascii")


def _words(vocabulary: int) -> Iterator[str]:
    """The words of the text files, without those that every system adds itself."""
    return (f"t{token}" for token in range(len(SPECIAL_TOKENS), vocabulary))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with train.en.gz and train.de.gz")
    parser.add_argument("--work", type=Path, required=True, help="the folder to fill")
    given = parser.parse_args()
    print(json.dumps(prepare(given.data.resolve(), given.work.resolve())))


if __name__ == "__main__":
    main()
