"""The model card: what a model is, what it learned from and how good it is, as the README.md of its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from regard.config import Config, CorpusConfig, DataConfig
from regard.evaluate.bootstrap import Interval
from regard.evaluate.metrics import MetricScore
from regard.evaluate.report import Evaluation

TESTED = "## On test data"
OF_THE_RUN = ("## The model", "## How good it is")
"""Sections that follow from a run; people may have written into the others."""


def write(config: Config, result: Mapping[str, Any]) -> str:
    """The card of a freshly trained model, from its configuration and the figures of its run."""
    data, model = config.data, config.model
    validation = result["validation"]
    lines = [
        "---",
        f"language: [{', '.join(dict.fromkeys(language for pair in data.pairs for language in pair))}]",
        "library_name: regard",
        "pipeline_tag: translation",
        "license: unknown",
        "---",
        f"# {', '.join(' to '.join(pair) for pair in data.pairs)}, trained with regard",
        "",
        "```sh",
        *[f"echo 'A sentence.' | regard translate {result['run']}{flags}" for flags in _language_flags(data)],
        "```",
        "",
        "## The model",
        f"A {model.architecture} with {model.encoder_layers}+{model.decoder_layers} layers, width {model.width}, "
        f"feed-forward {model.feed_forward}, {model.heads} heads, {model.norm}-norm; "
        f"{result['parameters']:,} parameters. Tokenizer: {config.tokenizer.kind}, "
        f"{'shared' if config.tokenizer.shared else 'separate'} vocabulary. All settings: `config.toml`."
        + _teachers(config),
        "",
        "## The data",
        f"{result['pairs']:,} pairs from:",
        *[f"- {_corpus(corpus)}" for corpus in data.train],
        "",
        "The licence of that text decides what this model may be used for: state it here before you share the model.",
        "",
        "## How good it is",
        _quality(config, validation),
        f"Trained for {result['steps']:,} steps ({_time(result)}); the weights are {result['chosen']}.",
        "",
        "`regard evaluate` measures BLEU and chrF with their signatures on your own test set.",
    ]
    return "\n".join(lines) + "\n"


def renewed(card: str, fresh: str) -> str:
    """A card with what a run came to since, from a fresh one; figures of a test go where these are other weights."""
    sections = {_title(section): section.rstrip() for section in _sections(fresh)}
    replaced = {title: sections[title] for title in OF_THE_RUN}
    old = {_title(section): section.rstrip() for section in _sections(card)}
    changed = any(old.get(title, text) != text for title, text in replaced.items())
    kept = [section for section in _sections(card) if not (changed and _title(section) == TESTED)]
    return "\n\n".join(replaced.get(_title(section), section.rstrip()) for section in kept) + "\n"


def _sections(card: str) -> list[str]:
    return re.split(r"^(?=## )", card, flags=re.MULTILINE)


def _title(section: str) -> str:
    return section.partition("\n")[0].rstrip()


def with_test(card: str, test: str, evaluation: Evaluation) -> str:
    """A card with the figures of a test in it, in place of those that it had of the same test; all else stays."""
    before, _, after = card.rstrip("\n").partition(f"\n{TESTED}\n")
    kept = [line for line in after.split("\n") if not line.startswith(f"- {test}: ")]
    intervals = evaluation.bootstrap
    scores = [
        _score(evaluation.bleu, intervals.bleu if intervals else None),
        _score(evaluation.chrf, intervals.chrf if intervals else None),
    ]
    line = f"- {test}: {'; '.join(scores)}; {evaluation.sentences:,} sentences"
    return "\n".join([before.rstrip("\n"), "", TESTED, line, *kept]).rstrip("\n") + "\n"


def _score(score: MetricScore, interval: Interval | None) -> str:
    margin = f" (95 %: {interval.low:.2f} to {interval.high:.2f})" if interval else ""
    return f"{score.name} {score.value:.2f}{margin}, `{score.signature}`"


def _language_flags(data: DataConfig) -> list[str]:
    """How to ask for each pair of languages; a model of one needs no asking."""
    if not data.tags:
        return [""]
    return [f" --from {source} --to {target}" for source, target in data.pairs]


def _corpus(corpus: CorpusConfig) -> str:
    weight = "" if corpus.weight == 1.0 else f" (weight {corpus.weight:g})"
    weight += f" ({' to '.join(corpus.languages)})" if corpus.languages else ""
    files = [corpus.pairs] if corpus.pairs else [corpus.source, corpus.target]
    makers = ", ".join(f"`{folder}`" for folder in corpus.made_by)
    made = f", its {'targets' if corpus.target_by else 'sources'} as made by {makers}" if makers else ""
    return " and ".join(f"`{file}`" for file in files) + made + weight


def _teachers(config: Config) -> str:
    names = ", ".join(f"`{teacher}`" for teacher in config.train.teachers)
    return f" Besides from text it learned from what other models say of it: {names}." if names else ""


def _time(result: Mapping[str, Any]) -> str:
    minutes, processes = f"{result['seconds'] / 60:.1f} minutes", result.get("processes")
    return f"{minutes}, {processes} process{'es' * (processes > 1)}" if processes else minutes


def _quality(config: Config, validation: Mapping[str, float] | None) -> str:
    if validation is None:
        return "There was no validation data, so nothing was measured."
    text = f"On its validation data: loss {validation['loss']:.4f}, perplexity {validation['perplexity']:.2f} a token."
    if "bleu" in validation:
        text += (
            f" Greedy BLEU on {config.train.validation_sentences:,} sentences at the most: {validation['bleu']:.2f}."
        )
    return text
