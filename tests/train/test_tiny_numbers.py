"""While a model learns, numbers below the smallest normal float are zero; before and after, they are what they are."""

from pathlib import Path
from typing import NoReturn

import pytest
import torch
from tiny_world import write_tiny_corpus

from regard import pipeline
from regard.train.tiny_numbers import are_zero, tiny_numbers_are_zero

pytestmark = pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot take them for zero")


def test_they_are_zero_for_a_while() -> None:
    assert not are_zero()
    with tiny_numbers_are_zero():
        assert are_zero()
        with tiny_numbers_are_zero():
            assert are_zero()
        assert are_zero()
    assert not are_zero()


def test_a_run_learns_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LeftError(Exception):
        pass

    def train(*_: object) -> NoReturn:
        assert are_zero()
        raise LeftError

    monkeypatch.setattr(pipeline.Trainer, "train", train)
    with pytest.raises(LeftError):
        pipeline.train_run(write_tiny_corpus(tmp_path), tmp_path / "run")
    assert not are_zero()
