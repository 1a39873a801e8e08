"""Every engine says what the model's own steps say, on a thousand sentences and a model that has learned something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from regard.data.builtin import generate
from regard.native.library import library, why_not
from regard.portability.cache import CACHE
from regard.recipe import parse_config
from regard.search.engine import Engine
from regard.search.translator import Translator

SENTENCES = 1000
LEAST = 0.995
SIZES = {"width": 64, "feed_forward": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "dropout": 0.0}
TRAINING = {
    "optimiser": "muon",
    "schedule": "linear",
    "max_steps": 400,
    "batch_tokens": 2048,
    "warmup_steps": 50,
    "learning_rate": 0.005,
    "threads": 1,
}
"""A model that knows what it says has no close rivals: a beam that differs in detail finds the same."""


class Reference(Translator):
    """The model's own steps in torch, and the search in Python."""

    def _packed(self, search, beginnings=()) -> None:
        return None

    def _engine(self, compute) -> Engine:
        return self.model


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that meet at every small operation would wait for each other beside a busy neighbour."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [pair.source for pair in generate("fr", 1).train[:SENTENCES]]


def train(folder: Path, **sizes: object) -> Path:
    from regard.pipeline import train_run

    pairs = generate("fr", 1).train[:6000]
    for side in ("source", "target"):
        (folder / side).write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs), encoding="utf-8")
    config = parse_config(
        {
            "data": {"train": [{"source": str(folder / "source"), "target": str(folder / "target")}]},
            "tokenizer": {"vocabulary_size": 600},
            "model": SIZES | sizes,
            "train": TRAINING,
        }
    )
    train_run(config, folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("agreement"))


@pytest.fixture(scope="module")
def expected(trained: Path, corpus: list[str]) -> dict[int, list[str]]:
    translator = Reference.load(trained)
    return {beam: translator.translate(corpus, beam=beam) for beam in (1, 5)}


def agreement(ours: list[str], theirs: list[str]) -> float:
    return sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)


@pytest.mark.slow
@pytest.mark.skipif(library() is None, reason=f"no kernels here: {why_not()}")
@pytest.mark.parametrize("beam", [1, 5])
def test_the_engine_in_c_agrees(trained: Path, corpus: list[str], expected: dict[int, list[str]], beam: int) -> None:
    assert len(set(expected[beam])) > SENTENCES / 4, "a model that says always the same shows nothing"
    assert agreement(Translator.load(trained).translate(corpus, beam=beam), expected[beam]) >= LEAST


@pytest.mark.slow
@pytest.mark.skipif(library() is None, reason=f"no kernels here: {why_not()}")
def test_ensembles_in_c_agree(trained: Path, corpus: list[str], tmp_path: Path) -> None:
    folders = (trained, train(tmp_path, width=48, heads=3, feed_forward=96, decoder_layers=2))
    both = Translator.load(*folders)
    assert both._packed(both.config.search) is not None
    for beam in (1, 5):
        expected = Reference.load(*folders).translate(corpus, beam=beam)
        assert len(set(expected)) > SENTENCES / 4, "models that say always the same show nothing"
        assert agreement(both.translate(corpus, beam=beam), expected) >= LEAST
        assert expected != Reference.load(trained).translate(corpus, beam=beam)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 5])
def test_ctranslate2_agrees(
    trained: Path,
    corpus: list[str],
    expected: dict[int, list[str]],
    beam: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ctranslate2")
    from regard.portability.ctranslate2_engine import CTranslate2Translator

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    assert agreement(CTranslate2Translator.load(trained).translate(corpus, beam=beam), expected[beam]) >= LEAST
