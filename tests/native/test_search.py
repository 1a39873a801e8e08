"""Whole searches in C give what beam.py and greedy.py give, whatever is searched beside them."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.config import ModelConfig, SearchConfig
from regard.errors import ModelFolderError
from regard.models import build_model
from regard.native import library as native
from regard.native import search as searching
from regard.native.engine import PackedTransformer, takes_bytes
from regard.search.batching import pad
from regard.search.beam import beam_search
from regard.search.engine import NativeEngine
from regard.search.greedy import greedy_search
from regard.search.native import native_search

pytestmark = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")

VOCABULARY = 90


def build(peaked=3.0, **changes):
    sizes = dict(width=32, feed_forward=48, heads=2, encoder_layers=2, decoder_layers=2, dropout=0.0)
    model = build_model(ModelConfig(**{**sizes, **changes}), VOCABULARY, VOCABULARY, 1)
    torch.manual_seed(3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    with torch.no_grad():
        model.output.weight.mul_(peaked)
    return model.eval().requires_grad_(False)


def sources(count=40, longest=19):
    chance = np.random.default_rng(1)
    return [[*chance.integers(4, VOCABULARY, chance.integers(0, longest)).tolist(), 3] for _ in range(count)]


def ignore(count):
    pass


TIES = 1
"""Sentences in which hypotheses are equally good but for the order of sums, which differs by processor and library."""


def same(found, expected):
    assert len(found) == len(expected)
    ties = 0
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-4, rel=1e-5)
        if [one.tokens for one in ours] != [one.tokens for one in theirs] and len(ours) > 1:
            ties += 1
            continue
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        assert [one.finished for one in ours] == [one.finished for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4, rel=1e-5)
        assert [one.log_probability for one in ours] == pytest.approx(
            [one.log_probability for one in theirs], abs=1e-4, rel=1e-5
        )
    assert ties <= TIES


@pytest.mark.parametrize(
    "changes", [{}, {"norm": "pre", "positions": "rotary"}, {"tie": "none", "output_bias": True}], ids=str
)
@pytest.mark.parametrize(("beam", "best"), [(1, 1), (2, 1), (5, 1), (5, 5), (7, 3)])
@pytest.mark.parametrize("penalty", ["paper", "none"])
def test_it_finds_what_beam_search_finds(changes, beam, best, penalty):
    model = build(**changes)
    config = SearchConfig(beam=beam, length_penalty=penalty, max_length_factor=1.0, max_length_extra=8)
    given = sources()
    expected = beam_search(model, *pad(given, torch.device("cpu")), config, best)
    packed = PackedTransformer(model.parts())
    same(native_search(packed, given, config, best, None, ignore), expected)
    same(beam_search(NativeEngine(packed), *pad(given, torch.device("cpu")), config, best), expected)


def test_greedy_search_too():
    model, given, config = build(), sources(), SearchConfig(beam=1, max_length_factor=1.0, max_length_extra=8)
    expected = greedy_search(model, *pad(given, torch.device("cpu")), config)
    same(native_search(PackedTransformer(model.parts()), given, config, 1, None, ignore), expected)


def test_a_limit_for_all_outputs():
    found = native_search(
        PackedTransformer(build().parts()), sources(), SearchConfig(beam=3), 3, longest=4, advanced=ignore
    )
    assert max(len(one.tokens) + one.finished for outputs in found for one in outputs) == 4


@pytest.mark.parametrize("compute", ["float32", "int8"])
@pytest.mark.parametrize("beam", [1, 5])
def test_company_changes_no_bit(monkeypatch, compute, beam):
    if compute == "int8" and not takes_bytes():
        pytest.skip("this processor does not multiply bytes")
    packed, given = PackedTransformer(build().parts(), compute), sources(60)
    config = SearchConfig(beam=beam, max_length_factor=1.0, max_length_extra=8)

    def run(rows, threads, batch_tokens, parts):
        monkeypatch.setattr(searching, "ROWS", rows)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        settings = config.model_copy(update={"batch_tokens": batch_tokens})
        try:
            return [
                one
                for part in range(0, len(given), parts)
                for one in native_search(packed, given[part : part + parts], settings, beam, None, ignore)
            ]
        finally:
            torch.set_num_threads(before)

    alone = run(rows=1, threads=1, batch_tokens=1, parts=1)
    for settings in ((7, 1, 30, 60), (64, 2, 4096, 60), (256, 3, 50, 13)):
        assert run(*settings) == alone, "equal to the last bit, scores included"


@pytest.mark.skipif(not takes_bytes(), reason="this processor does not multiply bytes")
def test_bytes_come_near_floats():
    model, given = build(peaked=1.0), sources(100)
    config = SearchConfig(beam=1, max_length_factor=0.0001, max_length_extra=1)
    floats = native_search(PackedTransformer(model.parts()), given, config, 1, None, ignore)
    in_bytes = native_search(PackedTransformer(model.parts(), "int8"), given, config, 1, None, ignore)
    differences = [
        abs(one[0].log_probability - other[0].log_probability) for one, other in zip(floats, in_bytes, strict=True)
    ]
    assert 0 < np.median(differences) < 0.1


def test_nothing_to_search():
    assert native_search(PackedTransformer(build().parts()), [], SearchConfig(), 1, None, ignore) == []


def test_what_is_not_a_number_is_said():
    model = build()
    model.output.weight[7] = torch.nan
    for compute in ("float32", "int8") if takes_bytes() else ("float32",):
        with pytest.raises(ModelFolderError, match="not numbers"):
            native_search(PackedTransformer(model.parts(), compute), sources(3), SearchConfig(), 1, None, ignore)


def test_it_tells_how_far_it_is():
    told = []
    native_search(PackedTransformer(build().parts()), sources(30), SearchConfig(beam=2), 1, None, told.append)
    assert sum(told) == 30


def test_an_interruption_stops_the_workers(monkeypatch):
    monkeypatch.setattr(searching, "PATIENCE", 0.01)
    config = SearchConfig(beam=5, max_length_factor=100.0)

    def interrupt(count):
        raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        native_search(PackedTransformer(build().parts()), sources(4000), config, 1, None, interrupt)
    assert time.monotonic() - begin < 30
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("regard-search")]


def test_several_threads_may_use_one_model():
    packed, given = PackedTransformer(build().parts()), sources(30)
    configs = [SearchConfig(beam=2, max_length_factor=factor) for factor in (1.0, 40.0, 3.0, 90.0)]
    expected = [native_search(PackedTransformer(build().parts()), given, config, 1, None, ignore) for config in configs]
    found = [None] * len(configs)

    def run(number):
        found[number] = native_search(packed, given, configs[number], 1, None, ignore)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(configs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


@pytest.mark.parametrize("bytes_in_all", [1, 1 << 15, 1 << 18])
def test_a_bound_on_memory_changes_no_bit(monkeypatch, bytes_in_all):
    packed, given, config = PackedTransformer(build().parts()), sources(60), SearchConfig(beam=4)
    free = native_search(packed, given, config, 2, None, ignore)
    monkeypatch.setattr(searching, "MOST_BYTES", bytes_in_all)
    assert native_search(packed, given, config, 2, None, ignore) == free


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the highest memory is read from /proc")
def test_long_texts_do_not_take_memory_all_at_once():
    """In a process of its own, for the highest memory ever is what is measured."""
    program = """
import re, sys, torch
from regard.config import ModelConfig, SearchConfig
from regard.models import build_model
from regard.native import search as searching
from regard.native.engine import PackedTransformer
from regard.search.native import native_search
torch.set_num_threads(1)
sizes = dict(width=256, feed_forward=64, heads=8, encoder_layers=1, decoder_layers=4, dropout=0.0)
packed = PackedTransformer(build_model(ModelConfig(**sizes), 90, 90, 1).eval().requires_grad_(False).parts())
searching.MOST_BYTES = int(sys.argv[1])
config = SearchConfig(beam=1, max_length=2)
native_search(packed, [[5] * 20], config, 1, None, lambda count: None)
highest = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = highest()
native_search(packed, [[5] * 500] * 40, config, 1, None, lambda count: None)
print(highest() - before)
"""
    used = [
        int(subprocess.run([sys.executable, "-c", program, str(most)], capture_output=True, check=True).stdout)
        for most in (2**24, 2**31)
    ]
    # forty times 500 positions of 8 KB are 160 MB, of which the lower bound allows 16 MB
    assert used[0] + 80_000 < used[1]


def test_long_sentences_and_wide_beams():
    model, given = build(), [[5] * 300 + [3], [6, 3]]
    config = SearchConfig(beam=40, max_length_factor=0.1, max_length_extra=3)
    expected = beam_search(model, *pad(given, torch.device("cpu")), config, 40)
    same(native_search(PackedTransformer(model.parts()), given, config, 40, None, ignore), expected)
