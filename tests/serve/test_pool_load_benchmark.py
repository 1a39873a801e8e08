"""The arithmetic of the load benchmark, and its clients against a server of a few lines: nothing here is timed."""

import asyncio
import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

import serve_load
from serve_systems.client import measure
from serve_systems.results import Load, Overload, Rounds, Soak, slope

from regard.errors import RegardError

WAITS = {"p50": 10.0, "p90": 20.0, "p99": 30.0, "longest": 40.0}


def shown(found: Load | Soak | Overload) -> str:
    console = Console(width=serve_load.WIDTH, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(found.table())
    return console.export_text()


def test_the_share_is_of_medians() -> None:
    served = Rounds([70.0, 90.0, 80.0], [WAITS, WAITS], [300.0, 310.0])
    load = Load("m", Rounds([90.0, 100.0, 120.0], [], [500.0]), {32: served})
    assert load.share(32) == pytest.approx(0.8)
    assert load.to_json()["clients"]["32"]["share_of_offline"] == pytest.approx(0.8)
    text = shown(load)
    assert "80 %" in text
    assert "70 - 90" in text
    assert "310" in text


def test_a_slope_is_that_of_the_second_half() -> None:
    assert slope([0, 1, 2], [5.0, 7.0, 9.0]) == pytest.approx(2)
    assert slope([1], [1.0]) == 0
    soak = Soak([100, 200, 300, 400], [1.0, 50.0, 60.0, 60.5], 9.0)
    assert soak.slope == pytest.approx(500)
    assert "+500.00 MB" in shown(soak)


def test_the_table_of_an_overload() -> None:
    crowd = {
        "seconds": 60.0,
        "ends": {"200": 5, "503": 9, "lost": 1},
        "sentences": 50,
        "unsent": 3,
        "milliseconds": WAITS,
    }
    modest = {"seconds": 60.0, "ends": {"503": 2}, "sentences": 0, "unsent": 0, "milliseconds": None}
    text = shown(Overload(400.0, 10.0, crowd, modest, [300.0, 350.0, 340.0], crowd))
    assert "10 times the 400 sentences/s" in text
    assert "300, 350, 340 MB" in text


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts"
    path.write_text("".join(f"text {number}\n" for number in range(7)), encoding="utf-8")
    return path


def ask(texts: Path, port: int, **changes: object) -> Namespace:
    given = {
        "host": "127.0.0.1",
        "clients": 3,
        "requests": 20,
        "rate": 0.0,
        "seconds": 0.0,
        "group": 1,
        "expected": None,
    }
    return Namespace(**{**given, "port": port, "texts": texts, "source": "en", "target": "fr", **changes})


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Shouts back what it is asked; a 5 is misheard."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            several = [asked["q"]] if isinstance(asked["q"], str) else asked["q"]
            found = [text.replace("5", "6").upper() for text in several]
            body = json.dumps({"translatedText": found if isinstance(asked["q"], list) else found[0]}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body[:5])
            await asyncio.sleep(0)
            writer.write(body[5:])
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def play(texts: Path, **changes: object) -> dict[str, object]:
    async def scene() -> dict[str, object]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            return await measure(ask(texts, server.sockets[0].getsockname()[1], **changes))

    return asyncio.run(scene())


def test_clients_ask_until_all_is_answered(texts: Path, tmp_path: Path) -> None:
    expected = tmp_path / "expected"
    expected.write_text(texts.read_text(encoding="utf-8").upper(), encoding="utf-8")
    found = play(texts, expected=expected)
    assert found["ends"] == {"200": 20}
    assert found["sentences"] == 20
    assert found["different"] == sum(number % 7 == 5 for number in range(20))
    assert found["milliseconds"]["p50"] <= found["milliseconds"]["longest"]


def test_several_sentences_of_a_request(texts: Path) -> None:
    found = play(texts, group=7, requests=4)
    assert found["ends"] == {"200": 4}
    assert found["sentences"] == 28


def test_clients_at_a_pace(texts: Path) -> None:
    found = play(texts, rate=200.0, seconds=0.3, requests=0)
    assert 1 <= found["ends"]["200"] + found["unsent"] <= 61
    assert set(found["ends"]) == {"200"}


def test_texts_that_are_not_there(tmp_path: Path, tiny_run: Path) -> None:
    options = serve_load.parse([str(tiny_run), "--texts", str(tmp_path / "none")])
    with pytest.raises(RegardError, match="no such file"):
        serve_load.Measurement(options, tmp_path)


def test_only_single_sentences_are_asked(tmp_path: Path, tiny_run: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("A cat sat.\nA cat sat. It ran.\nA dog.\nA dog.\n", encoding="utf-8")
    measurement = serve_load.Measurement(serve_load.parse([str(tiny_run), "--texts", str(lines)]), tmp_path)
    assert measurement.texts.read_text(encoding="utf-8") == "A cat sat.\nA dog.\n"
