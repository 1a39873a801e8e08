from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RegardError
from regard.train.curves import plot_curves
from regard.train.log import MetricsLog

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that were drawn, to look at what is in them."""
    drawn: list[Any] = []
    save = figure.Figure.savefig

    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        drawn.append(self)
        save(self, *args, **kwargs)

    monkeypatch.setattr(figure.Figure, "savefig", watched)
    return drawn


def write_log(run: Path, bleu: bool = True, rate: bool = True) -> None:
    log = MetricsLog(run)
    for step in range(10, 101, 10):
        rates = {"learning_rate": step * 1e-5} if rate else {}
        log.write(step, "train", seconds=1.0, loss=9.0 - step / 20, perplexity=math.exp(8.0 - step / 20), **rates)
        if step % 20 == 0:
            scores = {"bleu": step / 4} if bleu else {}
            log.write(step, "validation", seconds=1.0, loss=4 + abs(step - 60) / 50, **scores)


def lines(axes: Any) -> dict[str, tuple[list[float], list[float]]]:
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}


def texts(axes: Any) -> str:
    return " ".join(text.get_text().replace("\n", " ") for text in axes.texts)


def test_loss_bleu_and_rate_are_drawn_and_the_best_is_marked(tmp_path: Path, figures: list[Any]) -> None:
    write_log(tmp_path)
    assert plot_curves(tmp_path) == tmp_path / "curves.png"
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    loss, bleu, rate = figures[0].axes
    assert lines(loss)["training"][1] == pytest.approx([8.0 - step / 20 for step in range(10, 101, 10)])
    assert lines(loss)["validation"] == ([20, 40, 60, 80, 100], pytest.approx([4.8, 4.4, 4.0, 4.4, 4.8]))
    assert lines(bleu)["BLEU"] == ([20, 40, 60, 80, 100], [5.0, 10.0, 15.0, 20.0, 25.0])
    assert lines(rate)["learning rate"][1] == pytest.approx([step * 1e-5 for step in range(10, 101, 10)])
    assert texts(loss) == "best checkpoint step 60: 4.000"
    assert texts(bleu) == "best checkpoint step 60: 15.0"
    assert [text.get_text() for text in loss.get_legend().get_texts()] == ["training", "validation"]
    assert [text.get_text() for text in bleu.get_legend().get_texts()] == ["BLEU", "learning rate"]


def test_the_best_may_be_chosen_by_bleu(tmp_path: Path, figures: list[Any]) -> None:
    write_log(tmp_path)
    plot_curves(tmp_path, choose_by="bleu")
    assert texts(figures[0].axes[0]) == "best checkpoint step 100: 4.800"
    assert texts(figures[0].axes[1]) == "best checkpoint step 100: 25.0"


@pytest.mark.parametrize(("bleu", "rate", "panels"), [(False, True, 2), (True, False, 2), (False, False, 1)])
def test_no_panel_is_empty(tmp_path: Path, figures: list[Any], bleu: bool, rate: bool, panels: int) -> None:
    write_log(tmp_path, bleu, rate)
    assert plot_curves(tmp_path, choose_by="bleu") is not None
    assert len(figures[0].axes) == panels
    assert all(axes.get_lines() for axes in figures[0].axes)


def test_figures_that_were_not_finite_are_left_out(tmp_path: Path, figures: list[Any]) -> None:
    log = MetricsLog(tmp_path)
    for step, loss in [(1, 3.0), (2, math.nan), (3, 1.0)]:
        log.write(step, "train", seconds=0.0, loss=loss)
        log.write(step, "validation", seconds=0.0, loss=loss)
    plot_curves(tmp_path)
    assert lines(figures[0].axes[0])["training"] == ([1, 3], [3.0, 1.0])
    assert texts(figures[0].axes[0]) == "best checkpoint step 3: 1.000"


def test_one_line_of_any_kind_is_enough(tmp_path: Path, figures: list[Any]) -> None:
    MetricsLog(tmp_path / "a").write(1, "validation", seconds=0.0, loss=2.0)
    MetricsLog(tmp_path / "b").write(1, "train", seconds=0.0, loss=2.0, learning_rate=1e-3)
    assert plot_curves(tmp_path / "a") is not None
    assert plot_curves(tmp_path / "b") is not None
    assert [len(drawn.axes) for drawn in figures] == [1, 2]


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no such log"):
        plot_curves(tmp_path)
    MetricsLog(tmp_path).write(1, "bad", seconds=0.0, loss=2.0)
    assert plot_curves(tmp_path) is None
    assert not (tmp_path / "curves.png").exists()


def test_without_matplotlib_there_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert plot_curves(tmp_path) is None
