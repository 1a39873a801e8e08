"""Trials with a process that is made up, and one that dies."""

import subprocess
import sys
from contextlib import contextmanager

import pytest
from tiny_world import write_tiny_corpus

from regard.errors import RegardError
from regard.planning import trying
from regard.planning.text import look_at_text
from regard.planning.trial import OutOfMemory, Trial, TrialProcess
from regard.planning.trying import Trying, validation_seconds

MB = 1_000_000


class MadeUp:
    """A trial process whose memory is a line over the size of a batch, and which dies beyond a limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.asked: list[tuple[int, int, int]] = []

    def train(self, config, run):
        train = config.train
        self.asked.append((train.batch_tokens, train.accumulate, train.max_steps))
        peak = 100 * MB + 50_000 * train.batch_tokens
        if peak > self.limit:
            raise OutOfMemory
        return Trial(peak, files=60 * MB, speeds=(900.0, 1000.0, 2000.0), seconds=(0.1, 0.1, 0.1))

    def judge(self, config, run):
        return {"checkpoint_bytes": 10, "checkpoint_seconds": 0.5, "loss_seconds": 1.0, "bleu_seconds": 2.0}


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    config = write_tiny_corpus(tmp_path / "corpus")

    def run(limit: float, memory: float | None, steps: int = 10, processes: int = 1, **train):
        process = MadeUp(limit)

        @contextmanager
        def start():
            yield process

        monkeypatch.setattr(trying, "trial_process", start)
        monkeypatch.setattr(trying, "INTERPRETER_BYTES", 99 * MB)
        mine = config.model_copy(update={"train": config.train.model_copy(update=train)})
        folder = tmp_path / "work"
        folder.mkdir()
        text = look_at_text(mine, tmp_path / "run", folder)
        epoch = text.epoch(mine)
        return Trying(mine, text, epoch, 10_000, processes, 1, steps, memory, folder).run(), process

    return run


def test_memory_is_measured_at_two_sizes_and_speed_at_the_wanted_one(attempt):
    tried, process = attempt(limit=1000 * MB, memory=500 * MB, batch_tokens=4000)
    assert process.asked == [(1000, 1, 2), (4000, 1, 2), (4000, 1, 12)]
    assert tried.memory.per_token == pytest.approx(50_000)
    assert tried.memory.fixed == pytest.approx(100 * MB)
    assert tried.speed.tokens_per_second == 1000
    assert tried.killed_at is None


def test_fewer_processes_are_tried_where_so_many_cannot_fit(attempt):
    tried, process = attempt(limit=1000 * MB, memory=450 * MB, batch_tokens=1000, processes=16)
    assert process.asked
    assert tried.speed.processes == 4


def test_a_batch_that_will_not_fit_is_not_tried(attempt):
    tried, process = attempt(limit=1000 * MB, memory=220 * MB, batch_tokens=4000)
    assert process.asked[-1][:2] == (2000, 2)
    assert tried.memory.needed(4000, 1) == pytest.approx(300 * MB)


def test_after_a_death_a_smaller_batch_is_tried(attempt):
    tried, process = attempt(limit=200 * MB, memory=None, batch_tokens=4000)
    assert [batch for batch, _, _ in process.asked] == [1000, 4000, 250, 1000, 1000]
    assert tried.killed_at == 4000
    assert tried.speed.batch_tokens == 1000


def test_where_no_batch_is_small_enough_there_is_no_speed(attempt):
    tried, _ = attempt(limit=50 * MB, memory=None, batch_tokens=4000)
    assert tried.speed is None


def test_a_model_that_cannot_fit_is_not_built(attempt):
    tried, process = attempt(limit=1000 * MB, memory=1000.0, batch_tokens=4000)
    assert process.asked == []
    assert tried.speed is None


def test_slow_steps_are_fewer_and_smaller(attempt, monkeypatch):
    monkeypatch.setattr(trying, "MEASURING_SECONDS", 0.35)
    _, process = attempt(limit=1000 * MB, memory=None, batch_tokens=4000, accumulate=6)
    assert process.asked[-1] == (4000, 1, 5)


def test_a_validation_is_estimated_from_a_part_of_it():
    figures = {"loss_seconds": 1.0, "bleu_seconds": 2.0}
    assert validation_seconds(figures, sentences=500, sampled=200, total=1000) == 1.0 * 5 + 2.0 * 2.5
    assert validation_seconds(figures, sentences=100, sampled=200, total=1000) == 1.0 * 5 + 2.0
    assert validation_seconds(figures, sentences=0, sampled=200, total=1000) == 5.0


def process_that(code: str) -> TrialProcess:
    arguments = [sys.executable, "-c", code]
    return TrialProcess(subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os; input(); os.kill(os.getpid(), 9)", OutOfMemory),
        ("input(); print('{\"out_of_memory\": true}')", OutOfMemory),
        ("input(); raise SystemExit(7)", RegardError),
        ('input(); print(\'{"refused": "a sentence"}\')', RegardError),
    ],
)
def test_a_trial_that_ends_badly_is_a_finding_or_a_sentence(tmp_path, code, error):
    config = write_tiny_corpus(tmp_path / "corpus")
    with pytest.raises(error):
        process_that(code).train(config, tmp_path / "run")
