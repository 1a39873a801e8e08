"""The express lane: what goes by it is answered as the application would, to the byte, and ends as well as it would."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from http_world import http, make_service, obedient, serving

from regard.search.translator import Translator
from regard.serve import express, protocol
from regard.serve.app import make_app
from regard.serve.departure import Departure
from regard.serve.express import ExpressLane
from regard.serve.jobs import Answer, Job, Pair
from regard.serve.keys import KeyRing, add_key

PLAIN = {"q": "the cat sees the dog", "source": "en", "target": "fr"}
ORDINARY = {"Origin": "http://elsewhere.example"}
"""A header with which nobody gets into the lane."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each request that came to the lane was taken by it."""
    found: list[bool] = []
    begin = ExpressLane.begin

    def noted(*given: Any) -> bool:
        found.append(begin(*given))
        return found[-1]

    monkeypatch.setattr(ExpressLane, "begin", noted)
    return found


@pytest.fixture
def address(plain_translator: Translator) -> Iterator[str]:
    with serving(make_service(obedient(plain_translator))) as address:
        yield address


def request(fields: Any, version: str = "1.1", **headers: str) -> bytes:
    body = json.dumps(fields).encode() if not isinstance(fields, bytes) else fields
    lines = [f"POST /translate HTTP/{version}", "Host: localhost", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 0), timeout=60)


def answers(connection: socket.socket, count: int = 1) -> list[bytes]:
    """Whole answers, without their time."""
    received = b""
    found: list[bytes] = []
    while len(found) < count:
        received += (more := connection.recv(65536))
        while match := re.match(rb"(?s)(.*?\r\n\r\n)", received):
            length = re.search(rb"content-length: (\d+)", match[1].lower())
            end = match.end() + (int(length[1]) if length else 0)
            if len(received) < end:
                break
            found.append(re.sub(rb"\r\ndate: [^\r]*", b"", received[:end]))
            received = received[end:]
        assert more or len(found) >= count, "the connection was closed"
    return found


def asked(address: str, sent: bytes) -> bytes:
    with connected(address) as connection:
        connection.sendall(sent)
        return answers(connection)[0]


GOES = [
    PLAIN,
    {**PLAIN, "q": 'say "a\\b", höflich \u2028 \x7f, 猫'},
    {**PLAIN, "q": "one line. Another one!\n\n  - and a third   \n"},
    {**PLAIN, "format": "text", "alternatives": 0, "api_key": ""},
]
GOES_NOT = [
    {**PLAIN, "q": ["one", "two"]},
    {**PLAIN, "q": "see https://example.org {name}"},
    {**PLAIN, "q": "..."},
    {**PLAIN, "source": "auto"},
    {**PLAIN, "target": "en"},
    {**PLAIN, "format": "html"},
    {**PLAIN, "alternatives": 2},
    {**PLAIN, "source": "xx"},
    {**PLAIN, "q": ""},
    {**PLAIN, "q": "\ud800"},
    {**PLAIN, "target": ["fr"]},
    b"{",
    b'{"q": "one", "q": "two", "source": "en", "target": "fr"}',
]


@pytest.mark.parametrize("fields", GOES + GOES_NOT, ids=lambda fields: json.dumps(str(fields)))
def test_both_ways_give_the_same_bytes(address: str, fields: Any, taken: list[bool]) -> None:
    found = asked(address, request(fields))
    assert taken == [fields in GOES]
    assert found == asked(address, request(fields, **ORDINARY))
    assert len(taken) == 1
    assert found.startswith(b"HTTP/1.1 200 OK\r\n" if fields in GOES else b"HTTP/1.1 ")


@pytest.mark.parametrize(("patience", "step"), [(60.0, "_start_asgi_task"), (0.0, "start")], ids=["held", "let go"])
def test_a_body_may_follow_its_head(
    address: str, taken: list[bool], monkeypatch: pytest.MonkeyPatch, patience: float, step: str
) -> None:
    """The body is sent when the head has been read and, if nothing is held, has gone the ordinary way."""
    sent = request(PLAIN)
    end = sent.index(b"\r\n\r\n") + 4
    reached, original = threading.Event(), getattr(protocol.BoundedProtocol, step)

    def noted(*given: Any) -> None:
        original(*given)
        reached.set()

    monkeypatch.setattr(protocol.BoundedProtocol, step, noted)
    monkeypatch.setattr(protocol, "HELD", patience)
    with connected(address) as connection:
        connection.sendall(sent[:end])
        assert reached.wait(60)
        connection.sendall(sent[end:])
        assert b'{"translatedText":"THE CAT SEES THE DOG"}' in answers(connection)[0]
    assert taken == ([True] if patience else [])


def test_a_connection_goes_on_and_answers_come_in_order(address: str, taken: list[bool]) -> None:
    texts = ["one", "two", "three", "four", "five"]
    with connected(address) as connection:
        connection.sendall(b"".join(request({**PLAIN, "q": text}) for text in texts))
        found = answers(connection, len(texts))
        assert [json.loads(each.partition(b"\r\n\r\n")[2])["translatedText"] for each in found] == [
            text.upper() for text in texts
        ]
        connection.sendall(request(PLAIN))
        assert answers(connection)[0].endswith(b'"}')
    assert taken == [True, True]  # the first, and the one that came when nothing was under way


@pytest.mark.parametrize("given", [{"version": "1.0"}, {"Connection": "close"}])
def test_a_connection_that_is_to_end_ends(address: str, given: dict[str, str], taken: list[bool]) -> None:
    version = given.pop("version", "1.1")
    with connected(address) as connection:
        connection.sendall(request(PLAIN, version, **given))
        assert b"\r\nconnection: close\r\n\r\n" in answers(connection)[0]
        assert connection.recv(1) == b""
    assert taken == [True]


def test_who_has_no_key_or_too_many_requests_is_refused(
    plain_translator: Translator, taken: list[bool], tmp_path: Path
) -> None:
    secret = add_key(tmp_path / "keys.toml", "somebody", rate=2)
    keys = KeyRing.load(tmp_path / "keys.toml")
    with serving(make_service(obedient(plain_translator), keys=keys)) as address:
        assert asked(address, request(PLAIN)).startswith(b"HTTP/1.1 400")
        assert asked(address, request({**PLAIN, "api_key": "wrong"})).startswith(b"HTTP/1.1 403")
        right = request({**PLAIN, "api_key": secret})
        assert [asked(address, right)[9:12] for _ in range(3)] == [b"200", b"200", b"429"]
    assert taken == [False, False, True, True, False]


def test_another_name_and_another_path_do_not_get_in(address: str, taken: list[bool]) -> None:
    assert asked(address, request(PLAIN).replace(b"localhost", b"evil.test")).startswith(b"HTTP/1.1 421")
    assert asked(address, request(PLAIN).replace(b"/translate", b"/detect")).startswith(b"HTTP/1.1 200")
    assert taken == []


def figures(address: str, *names: str) -> list[float]:
    page = http.get(f"{address}/metrics").text
    return [float(found[1]) if (found := re.search(rf"(?m)^{name} (\S+)$", page)) else 0.0 for name in names]


DONE = r'regard_requests_total\{method="POST",route="/translate",status="%d"\}'
FIGURES = (DONE % 200, DONE % 499, DONE % 503, DONE % 500, "regard_requests_in_flight", "regard_queue_jobs")


def test_answers_are_counted_once(address: str) -> None:
    for _ in range(3):
        asked(address, request(PLAIN))
    wait_until(lambda: figures(address, *FIGURES) == [3, 0, 0, 0, 1, 0])  # in flight: the one who looks
    (characters,) = figures(address, r'regard_characters_total\{pair="en-fr"\}')
    assert characters == 3 * len(PLAIN["q"])


def test_who_leaves_frees_the_place(plain_translator: Translator, taken: list[bool]) -> None:
    model = obedient(plain_translator)
    with serving(make_service(model)) as address:
        model.gate.clear()
        connection = connected(address)
        connection.sendall(request(PLAIN))
        wait_until(lambda: figures(address, "regard_queue_jobs") == [1])
        connection.close()
        wait_until(lambda: figures(address, *FIGURES) == [0, 1, 0, 0, 1, 0])
        model.gate.set()
        assert asked(address, request(PLAIN)).startswith(b"HTTP/1.1 200")
    assert taken == [True, True]


def test_what_takes_too_long_and_what_breaks_is_told(plain_translator: Translator, taken: list[bool]) -> None:
    model = obedient(plain_translator)
    with serving(make_service(model, seconds=2.0)) as address:  # in which the second request must be answered
        model.gate.clear()
        with connected(address) as connection:
            connection.sendall(request(PLAIN))
            late = answers(connection)[0]
            model.gate.set()
            connection.sendall(request(PLAIN))  # on the same connection, which goes on
            assert answers(connection)[0].startswith(b"HTTP/1.1 200")
        assert late.startswith(b"HTTP/1.1 503")
        assert b"Took too long" in late
        assert b"retry-after" not in late
        broken = asked(address, request({**PLAIN, "q": "bad"}))
        assert broken.startswith(b"HTTP/1.1 500")
        assert b"Internal error" in broken
        wait_until(lambda: figures(address, *FIGURES) == [1, 0, 1, 1, 1, 0])
    assert taken == [True, True, True]


def test_who_is_refused_for_want_of_room_is_charged_once(plain_translator: Translator, tmp_path: Path) -> None:
    model = obedient(plain_translator)
    right = request({**PLAIN, "api_key": add_key(tmp_path / "keys.toml", "somebody", rate=3)})
    keys = KeyRing.load(tmp_path / "keys.toml")
    with serving(make_service(model, keys=keys, pool={"queue_sentences": 1})) as address:
        model.gate.clear()
        with connected(address) as first:
            first.sendall(right)
            wait_until(lambda: figures(address, "regard_queue_jobs") == [1])
            assert [asked(address, right)[9:12] for _ in range(3)] == [b"503", b"503", b"429"]
            model.gate.set()
            assert answers(first)[0].startswith(b"HTTP/1.1 200")


def test_who_leaves_in_the_moment_of_the_answer_gets_none(plain_translator: Translator) -> None:
    service = make_service(obedient(plain_translator))
    lane, faults = make_app(service).lane, list[Any]()

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: faults.append(what))
        request = service.pool.begin(Pair("en", "fr"), Job(("x",)))
        connection = SimpleNamespace(departure=Departure(), answer=faults.append, start=faults.append)
        express._Ride(lane, connection, SimpleNamespace(), request, [])  # type: ignore[arg-type]
        request.answer.set_result(Answer([[]]))
        connection.departure.happen()
        await asyncio.sleep(0.01)

    asyncio.run(scene())
    assert faults == []
    assert service.pool.statistics.jobs == 0


def test_the_application_answers_without_our_server(plain_translator: Translator) -> None:
    async def ask() -> int:
        transport = httpx.ASGITransport(make_app(make_service(obedient(plain_translator))))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.get("/health")).status_code

    assert asyncio.run(ask()) == 200


def wait_until(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
