"""Whether a run is worth starting: it fits, it fits with a change, or it is hopeless; with reasons and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.config import PRESETS, Config
from regard.planning.estimate import Estimate, fits_memory, largest_batch
from regard.planning.facts import Facts
from regard.planning.words import counted, gigabytes, long_duration

DAY = 86_400.0
HOPELESS_DAYS = 90
"""A run of more than three months is not finished: something ends it before."""
LONG_DAYS = 7
HOPELESS_PARAMETERS_PER_TOKEN = 1_000
"""Weights for every token of the training text, from which a model can only learn the text by heart."""
MANY_PARAMETERS_PER_TOKEN = 50
MOST_PARTS = 8
"""Into more parts a batch is not divided for the sake of several processes: one with larger batches is better then."""

Level = Literal["fits", "change", "hopeless"]
EXIT_CODES: dict[Level, int] = {"fits": 0, "change": 3, "hopeless": 4}


@dataclass(frozen=True)
class Verdict:
    """What to think of a run."""

    level: Level
    reasons: tuple[str, ...] = ()
    """What stands in the way, and what to do about it."""
    proposal: tuple[str, ...] = ()
    """Keys that make it fit."""
    notes: tuple[str, ...] = ()


def judge(config: Config, facts: Facts, expected: Estimate) -> Verdict:
    """Hold what a run will come to against what there is."""
    notes = tuple(_notes(config, facts, expected))
    proposal = () if _memory_fits(config, facts) else smaller_batch(config, facts)
    hopeless = tuple(_hopeless(config, facts, expected, proposal))
    if hopeless:
        return Verdict("hopeless", hopeless, (), notes)
    missing = tuple(_missing(config, facts, expected, proposal or ()))
    return Verdict("change" if missing else "fits", missing, proposal or (), notes)


def with_worst_of(verdict: Verdict, teachers: Sequence[Verdict]) -> Verdict:
    """The same, with what stands in the way of a teacher that is trained first."""
    worst = max(teachers, key=lambda teacher: EXIT_CODES[teacher.level], default=Verdict("fits"))
    if worst.level == "fits":
        return verdict
    remedy = (f"This fits: {' '.join(worst.proposal)}",) if worst.proposal else ()
    reasons = tuple(f"`train.teacher_recipe`: {reason}" for reason in (*worst.reasons, *remedy))
    level = max(worst.level, verdict.level, key=EXIT_CODES.__getitem__)
    return Verdict(level, (*reasons, *verdict.reasons), verdict.proposal, verdict.notes)


def _memory_fits(config: Config, facts: Facts) -> bool:
    return facts.speed is not None and fits_memory(facts, config.train.batch_tokens, facts.processes)


def smaller_batch(config: Config, facts: Facts) -> tuple[str, ...] | None:
    """Keys that make a step of smaller batches, as many tokens in all; None where even the smallest does not fit."""
    if facts.speed is None:
        return None
    train = config.train
    smallest = train.batch_tokens // facts.epoch.longest
    for processes, most in (
        *((several, min(smallest, MOST_PARTS)) for several in halves(facts.processes)),
        (1, smallest),
    ):
        for parts in range(1, most + 1):
            batch = train.batch_tokens // parts
            if fits_memory(facts, batch, processes):
                keys = [f"train.batch_tokens={batch}", f"train.accumulate={train.accumulate * parts}"]
                return (*(keys if parts > 1 else ()), f"train.processes={processes}")
    return None


def halves(count: int) -> Iterator[int]:
    """A number, half of it, half of that, down to 1."""
    while count:
        yield count
        count //= 2


def _hopeless(config: Config, facts: Facts, expected: Estimate, proposal: tuple[str, ...] | None) -> Iterator[str]:
    parameters = sum(facts.parameters.values())
    if proposal is None:
        have = f", and {gigabytes(facts.machine.memory)} are free" if facts.machine.memory is not None else ""
        need = facts.memory.needed(facts.epoch.longest, 1)
        yield (
            f"The memory does not suffice: with the smallest batch a process takes {gigabytes(need)} or more{have}. "
            f"A smaller model ({_smaller(config)}), a smaller tokenizer.vocabulary_size, or a machine with more memory."
        )
    if expected.time is not None and expected.time.own / facts.machine.crowding > HOPELESS_DAYS * DAY:
        affordable = int(HOPELESS_DAYS * DAY / expected.time.own * expected.steps)
        yield (
            f"It would take {long_duration(expected.time.own)}. In {HOPELESS_DAYS} days this machine makes "
            f"{affordable:,} of the {expected.steps:,} steps. A smaller model ({_smaller(config)}), a smaller "
            "train.max_steps, or a faster machine."
        )
    elif expected.time is not None and expected.time.total / facts.machine.crowding > HOPELESS_DAYS * DAY:
        yield (
            f"With the teachers that are trained first it would take {long_duration(expected.time.total)}: fewer of "
            "them, or a smaller train.max_steps in their recipe."
        )
    per_token = parameters / max(facts.epoch.target_tokens, 1)
    if per_token > HOPELESS_PARAMETERS_PER_TOKEN:
        yield (
            f"The model has {per_token:,.0f} parameters for every token of the text (more than "
            f"{HOPELESS_PARAMETERS_PER_TOKEN:,}): it will know the text by heart and translate nothing else. "
            f"More text, or a smaller model ({_smaller(config)})."
        )


def _smaller(config: Config) -> str:
    sizes = list(PRESETS)
    place = sizes.index(config.model.preset)
    return f"model.preset={sizes[place - 1]}" if place else "a smaller model.width"


def _missing(config: Config, facts: Facts, expected: Estimate, proposal: tuple[str, ...]) -> Iterator[str]:
    if facts.killed_at is not None:
        yield f"A trial with batches of {facts.killed_at:,} tokens ran out of memory."
    elif proposal:
        have = gigabytes(facts.machine.memory) if facts.machine.memory is not None else "less"
        yield f"Batches of {config.train.batch_tokens:,} tokens take {gigabytes(expected.memory)}; {have} are free."
    if expected.disk is not None and expected.disk > facts.machine.disk:
        said = "keep less of what the teachers say (train.teacher_tokens), " if config.train.asks_once else ""
        yield (
            f"It leaves {gigabytes(expected.disk)} on the disk, where {gigabytes(facts.machine.disk)} are free: "
            f"make room, {said}keep fewer checkpoints (train.keep_last, train.average_last), "
            "or name another disk with --run."
        )


def _notes(config: Config, facts: Facts, expected: Estimate) -> Iterator[str]:
    parameters, tokens = sum(facts.parameters.values()), max(facts.epoch.target_tokens, 1)
    if HOPELESS_PARAMETERS_PER_TOKEN >= parameters / tokens > MANY_PARAMETERS_PER_TOKEN:
        yield (
            f"{parameters / tokens:,.0f} parameters for every token of the text are many: "
            "a smaller model, or more model.dropout, may do better."
        )
    if expected.epochs < 1:
        yield f"The run ends after {expected.epochs:.0%} of the text: a larger train.max_steps would see all of it."
    if expected.time is not None and expected.time.total > LONG_DAYS * DAY:
        yield f"{long_duration(expected.time.total)} is long; an interrupted run goes on from its last checkpoint."
    if facts.machine.busy:
        cores = counted(facts.machine.cores, "core")
        yield f"The machine is busy (load {facts.machine.load:.1f}, {cores}): left alone, the run will be faster."
    if facts.device != "cpu":
        yield f"The run computes on {facts.device}, whose own memory was not looked at."
    if facts.speed is not None and facts.speed.batch_tokens < config.train.batch_tokens:
        yield f"The speed was measured with batches of {facts.speed.batch_tokens:,} tokens."
    learned = config.vocabulary_of is None
    if learned and min(facts.vocabulary) < config.tokenizer.vocabulary_size and not facts.exact:
        yield "The sample did not fill the vocabulary: with all the text, the model will be somewhat larger."
    room = largest_batch(facts)
    if room is not None and room >= 2 * config.train.batch_tokens:
        yield f"The memory would take batches of up to {room:,} tokens."
