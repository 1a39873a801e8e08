"""Lines of the log wait for each other, but not for ever."""

import asyncio
import logging

import pytest

from regard.serve import patient_log
from regard.serve.patient_log import PatientHandler


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
