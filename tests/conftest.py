"""What several tests share: public data where it is present, and a tiny model made by the real pipeline."""

import io
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from tiny_world import Command, Finished, write_tiny_corpus

from regard import progress
from regard.cli import main

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public corpora; tests that need it skip where there is none."""
    folder = Path(os.environ.get("REGARD_DATA") or REPOSITORY / "../shared/data")
    if not (folder / "multi30k").is_dir():
        pytest.skip("no public corpora here: the environment variable REGARD_DATA names their folder")
    return folder


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, made once by the real pipeline, never to be written to."""
    from regard.pipeline import train_run  # here, for most tests do without it

    folder = tmp_path_factory.mktemp("tiny")
    run = folder / "run"
    train_run(write_tiny_corpus(folder / "corpus"), run)
    return run


@pytest.fixture
def tiny_model(tiny_run: Path, tmp_path: Path) -> Path:
    """A model folder of one's own, to be damaged at will: the files that a user would hand on."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.safetensors", "config.toml", "tokenizer.json", "README.md"):
        shutil.copy(tiny_run / name, folder / name)
    return folder


@pytest.fixture
def regard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process: `regard("translate", folder, input=b"...")`."""
    monkeypatch.setattr(progress, "_shown", False)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.delenv("REGARD_TRACEBACK", raising=False)

    def run(*arguments: str | Path, input: bytes = b"") -> Finished:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input)))
        capsys.readouterr()
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        return Finished(code, *capsys.readouterr())

    return run
