"""Progress: silent in a library, lines in a pipe, a bar on a terminal, and always on standard error."""

import pytest

from regard import progress


@pytest.fixture(autouse=True)
def _progress_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_shown", False)


def test_nothing_is_printed_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.task("working", 3) as work:
        work.advance(3, "loss 1.0")
        work.note("half-way")
    progress.note("done")
    assert capsys.readouterr() == ("", "")


def test_pipe_gets_plain_lines_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_LINE_SECONDS", 0.0)
    progress.show()
    with progress.task("translating", 2000) as work:
        work.advance(1000, "loss 1.0")
        work.note("a remark")
    output, errors = capsys.readouterr()
    assert output == ""
    first, second = errors.splitlines()
    assert first.startswith("translating: 1,000 of 2,000 (50%), ")
    assert first.endswith("left, loss 1.0")
    assert second == "a remark"


def test_time_left_is_reckoned_from_what_is_done_now(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 20.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    progress.show()
    with progress.task("training", 1000, done=900) as work:
        work.advance(10)
    assert capsys.readouterr().err == "training: 910 of 1,000 (91%), 3 min 00 s left\n"


def test_work_of_unknown_size_shows_what_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_LINE_SECONDS", 0.0)
    progress.show()
    with progress.task("reading") as work:
        work.advance(5)
    assert capsys.readouterr().err == "reading: 5\n"


def test_lines_are_not_printed_at_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    progress.show()
    with progress.task("training", 10) as work:
        for _ in range(10):
            work.advance()
    assert capsys.readouterr().err == ""


def test_terminal_gets_a_bar_and_markup_is_left_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress.show()
    with progress.task("training", 4) as work:
        work.advance(2, "loss 2.5")
        work.note("[bold]not markup[/bold]")
    output, errors = capsys.readouterr()
    assert output == ""
    assert "[bold]not markup[/bold]" in errors


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (-3, "0 s"), (8.4, "8 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_duration_for_people(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text
