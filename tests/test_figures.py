"""Figures for programs: what was printed, as JSON."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import RegardError
from regard.figures import check_destination, publish, write_figures


@dataclass(frozen=True)
class Weather:
    degrees: float

    def to_text(self) -> str:
        return f"{self.degrees:.1f} degrees\n"

    def to_json(self) -> dict[str, Any]:
        return {"degrees": self.degrees}


def test_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    publish(Weather(21.5), None)
    assert capsys.readouterr().out == "21.5 degrees\n"


def test_text_and_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(Weather(21.5), str(tmp_path / "weather.json"))
    assert capsys.readouterr().out == "21.5 degrees\n"
    assert json.loads((tmp_path / "weather.json").read_text()) == {"degrees": 21.5}


def test_figures_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    publish(Weather(21.5), "-")
    assert json.loads(capsys.readouterr().out) == {"degrees": 21.5}


def test_values_of_any_kind_become_json(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    values = {
        "text": "né 中文",
        "path": Path("a/b"),
        "nan": float("nan"),
        "infinity": [float("-inf")],
        "numpy": np.float32(0.5),
        "count": np.int64(3),
        "nested": (Weather(1.0), {"yes": True, "none": None}),
    }
    write_figures(path, values)
    assert "né 中文" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "text": "né 中文",
        "path": "a/b",
        "nan": None,
        "infinity": [None],
        "numpy": 0.5,
        "count": 3,
        "nested": [{"degrees": 1.0}, {"yes": True, "none": None}],
    }


def test_order_is_kept(tmp_path: Path) -> None:
    write_figures(tmp_path / "f.json", {"z": 1, "a": 2})
    assert list(json.loads((tmp_path / "f.json").read_text())) == ["z", "a"]


def test_destination_is_checked_before_the_work(tmp_path: Path) -> None:
    check_destination(None)
    check_destination("-")
    check_destination(str(tmp_path / "new.json"))
    with pytest.raises(RegardError, match="is a folder"):
        check_destination(str(tmp_path))
    with pytest.raises(RegardError, match="no folder"):
        check_destination(str(tmp_path / "missing" / "f.json"))
