"""What several tests share: public data where it is present, and a tiny model made by the real pipeline."""

import io
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard import progress
from regard.cli import main
from regard.config import Config
from regard.recipe import parse_config

REPOSITORY = Path(__file__).parent.parent

TINY_RUN = {
    "data": {"source_language": "en", "target_language": "fr"},
    "tokenizer": {"kind": "bpe", "vocabulary_size": 320},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
    "train": {
        "max_steps": 20,
        "batch_tokens": 512,
        "warmup_steps": 5,
        "validate_every": 10,
        "validation_sentences": 4,
        "log_every": 5,
        "threads": 1,
    },
    "search": {"beam": 2, "max_length_factor": 1.0, "max_length_extra": 5},
}
"""A run of about a second; tests change what they look at."""


def write_tiny_corpus(folder: Path) -> Config:
    """Two hundred pairs that a computer can make up, and the configuration of a run on them."""
    subjects = {"the cat": "le chat", "the dog": "le chien", "a man": "un homme", "my friend": "mon ami"}
    verbs = {"eats": "mange", "sees": "voit", "takes": "prend", "likes": "aime", "finds": "trouve"}
    objects = {f"{number} apples": f"{number} pommes" for number in range(2, 12)}
    pairs = [
        (f"{subject} {verb} {thing}.", f"{subjects[subject]} {verbs[verb]} {objects[thing]}.")
        for subject in subjects
        for verb in verbs
        for thing in objects
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in {"train": pairs, "validation": pairs[::20]}.items():
        for side, language in enumerate(("en", "fr")):
            lines = "".join(f"{pair[side]}\n" for pair in part)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
    files = {
        name: [{"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.fr")}]
        for name in ("train", "validation")
    }
    return parse_config({**TINY_RUN, "data": {**TINY_RUN["data"], **files}})


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


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    code: int
    output: str
    errors: str


Command = Callable[..., Finished]


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
