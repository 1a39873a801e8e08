"""The plan as a screen of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from regard.config import Config
from regard.planning.estimate import Estimate, Time
from regard.planning.facts import Costs, Facts, Speed
from regard.planning.verdict import Verdict
from regard.planning.words import counted, gigabytes, long_duration, short

WIDTH = 79
MARGIN = 12
HEADLINES = {
    "fits": "It fits.",
    "change": "It does not fit as it stands.",
    "hopeless": "Hopeless.",
}


def draw(config: Config, facts: Facts, expected: Estimate, verdict: Verdict) -> str:
    """A screen for people: what is known, what is expected, and what to think of it."""
    rows = [*_text_and_model(config, facts, expected), ("", ""), *_needs(facts, expected)]
    if facts.speed is not None and facts.costs is not None and expected.time is not None:
        rows += [("", ""), *_time(facts, facts.speed, facts.costs, expected, expected.time)]
    lines = [line for head, words in rows for line in _row(head, words)]
    return "\n".join([*lines, "", *_verdict(verdict)])


def _row(head: str, words: str) -> list[str]:
    indent = " " * MARGIN
    return textwrap.wrap(words, WIDTH, initial_indent=head.ljust(MARGIN), subsequent_indent=indent) or [""]


def _text_and_model(config: Config, facts: Facts, expected: Estimate) -> Iterator[tuple[str, str]]:
    epoch, about = facts.epoch, "" if facts.exact else "about "
    source, target = (tokens / epoch.pairs for tokens in (epoch.source_tokens, epoch.target_tokens))
    lengths = f"{source:.1f} source and {target:.1f} target tokens each, {epoch.longest} at most"
    yield "text", f"{about}{facts.pairs:,} pairs, {lengths}"
    sizes = facts.vocabulary[:1] if config.tokenizer.shared else facts.vocabulary
    yield "vocabulary", f"{' and '.join(f'{size:,}' for size in sizes)} tokens, {facts.vocabulary_from}"
    parts = ", ".join(f"{name} {count:,}" for name, count in facts.parameters.items())
    yield "model", f"{sum(facts.parameters.values()):,} parameters: {parts}"
    batches = f"{config.train.accumulate} x " if config.train.accumulate > 1 else ""
    learned = f"about {expected.tokens_per_step:,.0f} target tokens"
    yield "step", f"{batches}{config.train.batch_tokens:,} tokens with padding, {learned}"


def _needs(facts: Facts, expected: Estimate) -> Iterator[tuple[str, str]]:
    machine = facts.machine
    if machine.memory is None:
        yield "memory", "not measured: this system does not tell"
    else:
        each = f" in {facts.processes} processes" if facts.processes > 1 else ""
        least = "" if facts.speed is not None else " or more"
        yield "memory", f"{gigabytes(expected.memory)}{least}{each}, of {gigabytes(machine.memory)} free"
    if expected.disk is not None and facts.costs is not None:
        size = gigabytes(facts.costs.checkpoint_bytes)
        said = ", what the teachers say" if facts.costs.asking_seconds is not None else ""
        first = ", the teachers' runs" if expected.time is not None and expected.time.teachers else ""
        kept = f"up to {expected.checkpoints} checkpoints of {size}, the prepared text{said}, the model{first}"
        yield "disk", f"{gigabytes(expected.disk)} of {gigabytes(machine.disk)} free: {kept}"


def _time(facts: Facts, speed: Speed, costs: Costs, expected: Estimate, time: Time) -> Iterator[tuple[str, str]]:
    threads = counted(max(1, facts.threads * facts.processes // speed.processes), "thread")
    where = f"{speed.processes} processes of {threads}" if speed.processes > 1 else threads
    median = f"median of {counted(speed.steps, 'step')}, {where}"
    yield "speed", f"{speed.tokens_per_second:,.0f} target tokens/s ({median})"
    per_epoch = f"{expected.steps_per_epoch:,} steps, {facts.epoch.target_tokens:,} target tokens"
    yield "epoch", f"{per_epoch}, {long_duration(expected.steps_per_epoch * time.step)}"
    yield "run", f"{expected.steps:,} steps of {short(time.step)}, {expected.epochs:,.1f} epochs"
    yield "time", f"{long_duration(time.training):>14}  training"
    if costs.validation_seconds is not None:
        each = short(costs.validation_seconds)
        yield "", f"{long_duration(time.validating):>14}  validating {expected.validations:,} times, {each} each"
    yield "", f"{long_duration(time.saving):>14}  saving {expected.validations:,} checkpoints"
    yield "", f"{long_duration(time.preparing):>14}  learning the vocabulary, preparing the text"
    if costs.making_seconds is not None:
        yield "", f"{long_duration(time.making):>14}  having models make text"
    if costs.asking_seconds is not None:
        yield "", f"{long_duration(time.asking):>14}  asking the teachers"
    if time.teachers:
        yield "", f"{long_duration(time.teachers):>14}  training teachers that are not there yet"
    yield "", f"{long_duration(time.total):>14}  in all"


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield HEADLINES[verdict.level]
    for line in (*verdict.reasons, *verdict.notes):
        yield from textwrap.wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ")
    if verdict.proposal:
        yield "This fits, with as many tokens a step:"
        yield f"    {' '.join(verdict.proposal)}"
