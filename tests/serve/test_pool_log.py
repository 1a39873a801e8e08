"""Lines of the log wait for each other, but not for ever."""

import asyncio
import io
import logging
import sys

import pytest

from regard.serve import patient_log
from regard.serve.patient_log import PatientFormatter, PatientHandler


@pytest.fixture
def log(request: pytest.FixtureRequest) -> logging.Logger:
    logger = logging.getLogger(f"regard.test.{request.node.name}")
    logger.handlers, logger.propagate = [PatientHandler()], False
    logger.setLevel("INFO")
    return logger


def test_lines_are_written_together(
    log: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_log, "PATIENCE", 0.01)

    async def scene() -> None:
        log.info("one")
        log.info("two")
        assert capsys.readouterr().err == ""
        await asyncio.sleep(0.05)
        assert capsys.readouterr().err == "one\ntwo\n"
        log.info("three")
        log.warning("four")
        assert capsys.readouterr().err == "three\nfour\n"

    asyncio.run(scene())


def test_a_line_without_words_and_a_closed_stream_take_nothing_with_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = PatientHandler()  # by itself: another one would stumble over the line

    def log(level: int, message: str, *words: object) -> None:
        handler.handle(logging.LogRecord("name", level, "file", 1, message, words, None))

    async def scene() -> None:
        log(logging.INFO, "good")
        log(logging.INFO, "%d", "no number")
        log(logging.WARNING, "good again")

    asyncio.run(scene())
    first, lost, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("good", "good again")
    assert lost.startswith("INFO a line of ")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    log(logging.WARNING, "for nobody")


def test_the_time_of_a_line_is_that_of_logging() -> None:
    plain, ours = logging.Formatter("%(asctime)s %(levelname)s %(message)s"), PatientFormatter()
    for created in (1e9, 1e9 + 0.25, 1e9 + 59.999, 1e9 + 61.5, 1e9):
        record = logging.LogRecord("name", logging.INFO, "file", 1, "a line", None, None)
        record.created, record.msecs = created, (created - int(created)) * 1000
        assert ours.format(record) == plain.format(record)


def test_without_a_loop_nothing_waits(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    log.info("alone")
    assert capsys.readouterr().err == "alone\n"


def test_not_too_many_lines_wait(
    log: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_log, "MOST_LINES", 3)

    async def scene() -> None:
        for number in range(4):
            log.info("%d", number)
        assert capsys.readouterr().err == "0\n1\n2\n"

    asyncio.run(scene())
