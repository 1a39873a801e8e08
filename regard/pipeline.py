"""A whole run, from bilingual text to a model folder: what `regard train` and `regard.train` do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean as mean
from typing import Any

import torch

from regard import card, progress
from regard.atomic import explained, write_file
from regard.candidates import candidates_of
from regard.config import Config
from regard.data.batches import FixedBatches, TrainingBatches
from regard.data.corpus import Pair, read_pairs
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import ConfigError
from regard.evaluate.metrics import available_tokenize, bleu
from regard.figures import json_text
from regard.hardware import available_cores, processor_name
from regard.missing_teachers import missing_teachers
from regard.models import build_model
from regard.models.contract import SequenceToSequence
from regard.models.folder import CARD, LoadedModel
from regard.models.pretrained import place_pretrained_vectors
from regard.models.start import place_start, read_start
from regard.models.teachers import read_teachers
from regard.native.library import why_not
from regard.progress import note, task
from regard.run_folder import FINISHED, open_run, remove_finished
from regard.search.options import plain_search
from regard.search.translator import Translator
from regard.text.profiles import learn_profiles, save_profiles
from regard.train.checkpoint import CHECKPOINTS, CheckpointStore
from regard.train.curves import plot_curves
from regard.train.loop import Outcome, Trainer
from regard.train.probe import agreed_precision
from regard.train.processes import joined_team, leading_team, processes_for
from regard.train.sayings import Teacher, ask_teachers
from regard.train.signals import StopRequest, stop_request
from regard.train.team import Team, team_of_torchrun
from regard.train.threads import threads_for, torch_threads
from regard.train.tiny_numbers import tiny_numbers_are_zero
from regard.train.validation import Bleu, Validator
from regard.translated.text import made_text

PREPARED = "prepared"
"""The folder of the prepared text in that of a run."""


@dataclass(frozen=True)
class TrainResult:
    """What a run gave."""

    run: Path
    outcome: Outcome
    parameters: int
    pairs: int
    curves: Path | None
    processes: int = 1
    """How many shared each batch, in the last session."""
    leads: bool = True
    """False in all but one of several processes: what was found is for the one to tell."""

    def to_json(self) -> dict[str, Any]:
        outcome, validation = self.outcome, self.outcome.validation
        return {
            "run": str(self.run),
            "parameters": self.parameters,
            "pairs": self.pairs,
            "steps": outcome.steps,
            "epochs": outcome.epochs,
            "target_tokens": outcome.tokens,
            "seconds": outcome.seconds,
            "processes": self.processes,
            "processor": processor_name(),
            "cores": available_cores(),
            "chosen": outcome.chosen,
            "validation": validation.metrics() if validation is not None else None,
            "curves": str(self.curves) if self.curves else None,
        }

    def to_text(self) -> str:
        outcome = self.outcome
        lines = [f"{outcome.steps:,} steps, {outcome.tokens:,} target tokens, {outcome.seconds / 60:.1f} minutes"]
        if outcome.validation is not None:
            lines.append(f"validation: {outcome.validation.line()}")
        lines.append(f"weights: {outcome.chosen}")
        lines.append(f"model: {self.run}" + (f", learning curves: {self.curves}" if self.curves else ""))
        return "\n".join(lines)


def train_run(config: Config, run: str | Path, must_resume: bool = False) -> TrainResult:
    """Train the model that a configuration describes, in the folder `run`; go on with what is there already.

    Teachers, and models that make text, which are not there yet come first. Under torchrun, every process calls this,
    and they train one model together.
    """
    if not must_resume:
        for teacher, folder in missing_teachers(config, Path(run)):
            note(f"first a model that it needs, in {folder}, with seed {teacher.seed}")
            _train_in(teacher, folder, must_resume=False)
    return _train_in(config, Path(run), must_resume)


def _train_in(config: Config, run: Path, must_resume: bool) -> TrainResult:
    device = device_of(config, int(os.environ.get("LOCAL_RANK", "0")))
    with (
        stop_request() as stop,
        stop.at_once(),
        ExitStack() as held,
        team_of_torchrun(device, config.train.shard) as team,
    ):
        if team.leads:
            held.enter_context(open_run(config, run, must_resume))
            with torch_threads(threads_for(config.train, processes=1)):
                made = made_text(config, run, begun=Tokenizers.exist(run))
            if not Tokenizers.exist(run):
                tokenizers = learn_tokenizers(made)
                check_lengths(made, tokenizers)
                tokenizers.save(run)
            PreparedCorpus.build(run / PREPARED, made.data.train, made.data, Tokenizers.load(run))
        team.meet()
        count = processes_for(config.train, device)
        if count == 1 or team.size > 1:
            return _train(config, run, device, team, stop)
        with leading_team(count, run, device, config.train.shard) as several:
            return _train(config, run, device, several, stop)


def take_part(config: Config, run: Path, rank: int, size: int, port: int, leader: int) -> None:
    """Train as one of several processes on this machine, of which another leads."""
    device = device_of(config, rank)
    with stop_request() as stop, joined_team(rank, size, port, leader, device, config.train.shard) as team:
        _train(config, run, device, team, stop)


def _train(config: Config, run: Path, device: torch.device, team: Team, stop: StopRequest) -> TrainResult:
    threads = threads_for(config.train, int(os.environ.get("LOCAL_WORLD_SIZE", team.size)))
    with tiny_numbers_are_zero(), torch_threads(threads):
        return _train_together(config, run, device, team, stop)


def _train_together(config: Config, run: Path, device: torch.device, team: Team, stop: StopRequest) -> TrainResult:
    if not team.leads:
        progress.show(False)
    tokenizers = Tokenizers.load(run)
    prepared = PreparedCorpus.open(run / PREPARED)
    note(f"{len(prepared):,} training pairs{_left_out(prepared)}")
    if device.type == "cpu" and (reason := why_not()):
        note(f"training without the kernels in C, which is slower: {reason} (docs/kernels.md)")
    sizes = (tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    model = build_model(config.model, *sizes, config.seed)
    if not team.told([CheckpointStore(run / CHECKPOINTS).begun])[0]:
        place_pretrained_vectors(model, config.model, tokenizers)
        if config.model.start is not None:
            place_start(model, config)
    place = dict(rank=team.turn, world=team.turns, part=team.part, parts=team.parts)
    batches = TrainingBatches(prepared, tokenizers, config, pinned=device.type == "cuda", **place)
    validator = build_validator(config, tokenizers) if team.leads else None
    precision = agreed_precision(config, model, run, device, team)
    if not team.shards:  # else each process takes its part of a layer there, and no more
        model.to(device)
    teacher = _teacher(config, prepared, run, device, team, stop, sizes[1]) if config.train.teachers else None
    find = candidates_of(config, tokenizers)
    trainer = Trainer(model, batches, validator, config, run, team, precision, find, teacher)
    if team.leads:
        remove_finished(run)
    outcome = trainer.train(stop)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    curves = plot_curves(run, config.train.choose_by) if team.leads else None
    result = TrainResult(run, outcome, parameters, len(prepared), curves, team.size, team.leads)
    if team.leads:
        save_profiles(run, learn_profiles(prepared, config.data))
        _write_card(run / CARD, card.write(config, result.to_json()))
        write_file(run / FINISHED, json_text(result.to_json()).encode())
    return result


def _teacher(
    config: Config,
    prepared: PreparedCorpus,
    run: Path,
    device: torch.device,
    team: Team,
    stop: StopRequest,
    vocabulary: int,
) -> Teacher:
    """The models that teach, or, where these are asked once only, what they say."""

    def load() -> SequenceToSequence:
        return read_teachers(config).model.to(device).requires_grad_(False)

    if not config.train.asks_once:
        return load()
    with stop.at_once():
        return ask_teachers(load, prepared, config, run, team, vocabulary)


def _write_card(path: Path, fresh: str) -> None:
    """Write the card, or bring the one that is there up to date: what people wrote into it stays."""
    with explained(path):
        before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else fresh
    write_file(path, card.renewed(before, fresh).encode())


def learn_tokenizers(config: Config) -> Tokenizers:
    """Learn a run's tokenizers from its training text, or take those of the model it begins with or of its teachers."""
    if config.model.start is not None:
        return read_start(config).tokenizers
    if config.train.teachers:
        return Tokenizers.load(Path(config.train.teachers[0]))
    with task("learning the vocabulary"):
        languages = sorted({target for _, target in config.data.pairs}) if config.data.tags else []
        if config.tokenizer.shared:
            both = train_tokenizer(_sides(config, source=True, target=True), config.tokenizer, languages)
            return Tokenizers(both, both)
        return Tokenizers(
            train_tokenizer(_sides(config, source=True), config.tokenizer, languages),
            train_tokenizer(_sides(config, target=True), config.tokenizer),
        )


def _sides(config: Config, source: bool = False, target: bool = False) -> Iterator[str]:
    for corpus in config.data.train:
        for pair in read_pairs(corpus, config.data):
            if source:
                yield pair.source
            if target:
                yield pair.target


def _left_out(prepared: PreparedCorpus) -> str:
    parts = [str(prepared.faults)] if prepared.faults.skipped else []
    if prepared.left_out:
        parts.append(f"{prepared.left_out:,} longer than data.max_tokens")
    return f" (left out: {'; '.join(parts)})" if parts else ""


def check_lengths(config: Config, tokenizers: Tokenizers) -> None:
    """Refuse text that is longer than the positions of a model which learns them."""
    if config.model.positions != "learned":
        return
    longest = config.model.max_positions - 1  # a sentence has a mark
    if config.data.max_tokens > longest:
        raise ConfigError(
            f"`data.max_tokens` is {config.data.max_tokens}, but the learned positions of this model suffice for "
            f"{longest} tokens and a mark (`model.max_positions`): set `data.max_tokens` to {longest} or less"
        )
    found = FixedBatches.read(config.data.validation, config.data, tokenizers, config.train.batch_tokens).longest
    if found > longest:
        raise ConfigError(
            f"`data.validation` has a sentence of {found:,} tokens, but the learned positions of this model suffice "
            f"for {longest:,} (`model.max_positions`): leave such pairs out, by a smaller `data.max_characters` for "
            "example"
        )


def build_validator(config: Config, tokenizers: Tokenizers) -> Validator | None:
    """What judges weights on the validation data of a configuration, if it names any."""
    if not config.data.validation:
        note("no `data.validation`: the last weights will be kept, for nothing tells which are best")
        if config.train.average_best > 1 or config.train.patience:
            note("`train.average_best` and `train.patience` do nothing without it")
        return None
    batches = FixedBatches.read(config.data.validation, config.data, tokenizers, config.train.batch_tokens)
    return Validator(batches, _greedy_bleu(config, tokenizers) if config.train.validation_sentences else None)


def _greedy_bleu(config: Config, tokenizers: Tokenizers) -> Bleu:
    """Greedy BLEU on the first sentences of each pair of languages, their mean: quick, and enough to choose by."""
    greedy = config.model_copy(update={"search": plain_search(config.search)})
    if config.data.tags:
        tokenizers = tokenizers.tagged(config.data.target_language)
    sets: dict[tuple[str, str], list[Pair]] = {}
    for corpus in config.data.validation:
        known = sets.setdefault(config.data.pair_of(corpus), [])
        known += islice(read_pairs(corpus, config.data), max(0, config.train.validation_sentences - len(known)))

    def score(model: SequenceToSequence) -> float:
        translator = Translator(LoadedModel(model, greedy, tokenizers))
        with torch_threads(threads_for(config.train, processes=1)):  # other processes wait: their cores are free
            return mean(_bleu(translator.between(*languages), pairs) for languages, pairs in sets.items())

    return score


def _bleu(translator: Translator, pairs: Sequence[Pair]) -> float:
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return bleu(translator.translate(sources), references, tokenize=available_tokenize(translator.languages[1])).value


def device_of(config: Config, number: int = 0) -> torch.device:
    """Where this process, the `number`-th on its machine, computes."""
    name = config.train.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"`train.device` is {name!r}: use auto, cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"`train.device` is {name!r}: use auto, cpu, cuda or cuda:N")
    if device.type == "cpu":
        return device
    if not torch.cuda.is_available():
        raise ConfigError(f"`train.device` is {name!r}, but torch finds no CUDA device here; use cpu or auto")
    device = torch.device("cuda", number) if device.index is None else device
    if device.index >= torch.cuda.device_count():
        found = torch.cuda.device_count()
        raise ConfigError(f"there is no {device} here, for torch finds {found} CUDA devices: start as many processes")
    return device
