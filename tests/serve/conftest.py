"""Models for the pool: one that the engine in C takes, and one that it does not."""

from pathlib import Path

import pytest
from tiny_world import write_tiny_corpus

from regard.recipe import parse_config
from regard.search.translator import Translator


@pytest.fixture(scope="session")
def native_translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A tiny model whose heads are as wide as the engine in C wants them; it has learned next to nothing."""
    from regard.pipeline import train_run

    folder = tmp_path_factory.mktemp("native")
    config = write_tiny_corpus(folder / "corpus").model_dump()
    config["model"] |= {"width": 32, "decoder_layers": 2}
    config["train"] |= {"max_steps": 60, "validate_every": 60}
    train_run(parse_config(config), folder / "run")
    return Translator.load(folder / "run")


@pytest.fixture(scope="session")
def plain_translator(tiny_run: Path) -> Translator:
    """A tiny model with heads too narrow for the engine in C."""
    return Translator.load(tiny_run)


@pytest.fixture(params=["native", "plain"])
def translator(request: pytest.FixtureRequest) -> Translator:
    """Each in turn."""
    chosen: Translator = request.getfixturevalue(f"{request.param}_translator")
    return chosen


