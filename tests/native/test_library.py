"""Where kernels come from: compiled once for this machine, tried out first, and left out where that fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.native import library as native

needs_compiler = pytest.mark.skipif(native.library() is None, reason=f"no kernels here: {native.why_not()}")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine that has compiled nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    native._found.cache_clear()
    yield tmp_path / "cache" / "regard"
    native._found.cache_clear()


def found():
    return native._found()


@needs_compiler
def test_compiles_once_and_leaves_nothing_else(fresh):
    assert found() != (None, None)
    assert found()[1] is None
    (path,) = fresh.iterdir()
    written = path.stat().st_mtime_ns
    native._found.cache_clear()
    assert found()[1] is None
    assert path.stat().st_mtime_ns == written


def test_can_be_turned_off(fresh, monkeypatch):
    monkeypatch.setenv(native.SWITCH, "0")
    assert found() == (None, "REGARD_NATIVE is 0")


def test_without_a_compiler(fresh, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert found() == (None, "there is no C compiler")


def compiler(folder: Path, script: str) -> str:
    """A program that pretends to be a compiler."""
    folder.mkdir(exist_ok=True)
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_fails_is_quoted(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", compiler(tmp_path / "bin", "echo 'kernels.c:1: error: no vectors' >&2; exit 1"))
    kernels, reason = found()
    assert kernels is None
    assert reason is not None
    assert reason.endswith("cannot compile the kernels: kernels.c:1: error: no vectors")
    assert not list(fresh.iterdir())


def test_code_that_dies_is_not_put_in_place(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv(
        "CC", compiler(tmp_path / "bin", 'while [ "$1" != -o ]; do shift; [ $# -gt 0 ] || exit 0; done; : > "$2"')
    )
    kernels, reason = found()
    assert kernels is None
    assert "do not run on this processor" in str(reason)
    assert not list(fresh.iterdir())


def test_code_that_the_system_ends_is_not_replaced_by_worse(fresh, monkeypatch):
    """As for want of memory: the next process tries again."""
    trials = []
    monkeypatch.setattr(native, "_try_out", lambda path: trials.append(path) or -9)
    assert "exit code -9" in str(found()[1])
    assert len(trials) == 1
    assert not list(fresh.iterdir())


@needs_compiler
def test_code_that_dies_is_compiled_again_without_tiles(fresh, monkeypatch, tmp_path):
    fast = native.multiplies_fast()
    real = shutil.which(os.environ.get("CC", "cc"))
    without = 'for each; do [ "$each" = -DWITHOUT_TILES ] && exec REAL "$@"; done\n'.replace("REAL", str(real))
    dies = 'while [ "$1" != -o ]; do shift; [ $# -gt 0 ] || exit 0; done; : > "$2"'
    monkeypatch.setenv("CC", compiler(tmp_path / "bin", without + dies))
    kernels, reason = found()
    assert reason is None
    assert not kernels.takes_tiles()
    assert bool(kernels.multiplies_fast()) == fast


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
def test_a_folder_that_others_may_write_is_not_trusted(fresh):
    fresh.mkdir(parents=True)
    fresh.chmod(0o777)
    kernels, reason = found()
    assert kernels is None
    assert "can be written by others" in str(reason) or "compiler" in str(reason)


def test_a_cache_that_cannot_be_made_is_no_error(fresh, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert found()[0] is None


@needs_compiler
def test_the_plain_flags_do_too(fresh, monkeypatch):
    monkeypatch.setattr(native, "TUNED", ("-mno-such-processor",))
    assert found()[1] is None


def test_training_works_without(tmp_path, monkeypatch):
    """The model, loss and gradients all have a form in torch."""
    script = (
        "import torch; from regard.config import ModelConfig; from regard.models import build_model;"
        "from regard.train.objective import batch_loss; from regard.data.batches import collate;"
        "model = build_model(ModelConfig(dropout=0.0), 50, 50, 1);"
        "loss = batch_loss(model, collate([[5, 6]], [[7, 8, 9]], [0]), 0.1).smoothed;"
        "loss.backward(); print(loss.item())"
    )
    losses = [
        float(
            subprocess.run(
                [sys.executable, "-c", script],
                env={**os.environ, native.SWITCH: switch},
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        )
        for switch in ("0", "1")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
