"""Limits: size, time, headers, keys, rates, names, origins; what is odd is refused and logged nowhere."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from http_world import SECRET, http, make_service, obedient, serving

from regard.search.translator import Translator
from regard.serve.keys import KeyRing, add_key
from regard.serve.protocol import BoundedProtocol
from regard.serve.rates import Rates, client_of
from regard.serve.service import Service

TRANSLATE = {"q": "the cat", "source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def service(plain_translator: Translator) -> Service:
    return make_service(obedient(plain_translator), header_bytes=4096, keep_alive_seconds=1)


@pytest.fixture(scope="module")
def address(service: Service) -> Iterator[str]:
    with serving(service) as found:
        yield found


@pytest.fixture(scope="module")
def hasty(plain_translator: Translator) -> Iterator[str]:
    """A server that waits for nobody; others get the time that a busy machine may need."""
    service = make_service(obedient(plain_translator), body_seconds=1.0, header_seconds=1.0, keep_alive_seconds=1)
    with serving(service) as found:
        yield found


def exchange(address: str, sent: bytes, wait: float = 30.0) -> bytes:
    """Send bytes, and read until the server closes the connection or `wait` is over."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=wait) as connection:
        connection.sendall(sent)
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except TimeoutError:
            received += b"[still open]"
    return received


def head(path: str, **headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_large_bodies_are_refused_whatever_they_declare(hasty: str) -> None:
    declared = exchange(hasty, head("/translate", Content_Length="131073"))
    assert declared.startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    undeclared = exchange(hasty, head("/translate", Transfer_Encoding="chunked") + chunk * 3)
    assert undeclared.startswith(b"HTTP/1.1 413")
    assert b'{"error"' in undeclared
    assert b"[still open]" not in undeclared


def test_slow_bodies_and_slow_headers_are_cut_off(hasty: str) -> None:
    assert exchange(hasty, head("/translate", Content_Length="100") + b"{").startswith(b"HTTP/1.1 408")
    assert exchange(hasty, b"POST /translate HTTP/1.1\r\nHost: a").startswith(b"HTTP/1.1 408")
    assert exchange(hasty, b"").startswith(b"HTTP/1.1 408")


def test_headers_behind_a_body_are_bounded(address: str) -> None:
    for trailers in (b"X: " + b"y" * 1_000_000, b"X: y\r\n" * 150_000):
        chunked = head("/translate", Transfer_Encoding="chunked") + b"1\r\n{\r\n0\r\n"
        try:
            assert exchange(address, chunked + trailers).startswith(b"HTTP/1.1 431")
        except ConnectionError:  # it is still being sent when the server has had enough
            continue


def test_an_answer_that_nobody_takes_is_dropped(plain_translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped, ours, lost = threading.Event(), [], BoundedProtocol.connection_lost

    def noted(protocol: BoundedProtocol, why: Exception | None) -> None:
        lost(protocol, why)
        if protocol.client in ours:  # and not one that another test has left behind
            dropped.set()

    monkeypatch.setattr(BoundedProtocol, "connection_lost", noted)
    service = make_service(obedient(plain_translator), body_seconds=0.3, keep_alive_seconds=1)
    service.metrics.characters.labels("x" * 20_000_000)
    with serving(service) as address:
        place = urlsplit(address)
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((place.hostname, place.port))
            ours.append(connection.getsockname())
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert dropped.wait(60)
            connection.settimeout(30)
            received = 0
            with suppress(ConnectionResetError):
                while part := connection.recv(1 << 20):
                    received += len(part)
        assert 0 < received < 20_000_000


def test_an_unread_body_does_not_hold_its_connection(address: str) -> None:
    received = exchange(address, head("/nowhere", Content_Length="1000") + b"{")
    assert received.startswith(b"HTTP/1.1 404")
    assert b"[still open]" not in received


def test_large_headers_are_refused(address: str) -> None:
    for value in ("x" * 5000, "x" * 200_000):
        assert exchange(address, head("/translate", X_Long=value)).startswith(b"HTTP/1.1 431")
    unfinished = b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000
    assert exchange(address, unfinished).startswith(b"HTTP/1.1 431")


def test_what_is_no_http_gets_an_error_of_the_same_form(address: str) -> None:
    received = exchange(address, b"\x16\x03\x01 nonsense\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400")
    assert list(json.loads(received.split(b"\r\n\r\n")[1])) == ["error"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head("/translate", X_Long="x" * 5000), 431),
        (head("/translate", X_Long="x" * 5000) * 3, 431),
        (head("/translate", X_Long="x" * 5000) + b"\x16\x03\x01 nonsense\r\n\r\n", 431),
        (b"nonsense\r\n\r\n" + head("/translate", X_Long="x" * 5000), 400),
        (b"nonsense\r\n\r\n" + b"x" * 5000, 400),
    ],
    ids=["large", "large three times", "large, then nonsense", "nonsense, then large", "long nonsense"],
)
def test_a_connection_is_refused_once(address: str, sent: bytes, status: int, caplog: pytest.LogCaptureFixture) -> None:
    received = exchange(address, sent)
    assert received.startswith(b"HTTP/1.1 %d" % status)
    assert received.count(b"HTTP/1.1 ") == received.count(b'{"error"') == 1
    assert b"[still open]" not in received
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_refused_connections_are_counted(address: str) -> None:
    counted = 'regard_requests_total{method="other",route="other",status="431"} '
    before = _figure(address, counted)
    exchange(address, head("/translate", X_Long="x" * 5000))
    assert _figure(address, counted) == before + 1


def _figure(address: str, name: str) -> float:
    lines = http.get(f"{address}/metrics").text.splitlines()
    return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)


def test_who_asks_for_another_protocol_gets_one_answer(address: str) -> None:
    for size in (2, 140_000):
        sent = head("/translate", Connection="Upgrade", Upgrade="websocket", Content_Length=str(size)) + b" " * size
        received = exchange(address, sent)
        assert received.count(b"HTTP/1.1") == 1
        assert b"[still open]" not in received


def test_a_connection_serves_several_requests(address: str) -> None:
    with httpx.Client(base_url=address) as client:
        for _ in range(5):
            assert client.post("/translate", json=TRANSLATE).json() == {"translatedText": "THE CAT"}


def test_headers_for_safety(address: str) -> None:
    for path in ("/", "/health", "/docs", "/nowhere", "/static/app.js"):
        headers = http.get(address + path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "cache-control" in headers
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_other_names_are_refused(address: str) -> None:
    assert http.get(f"{address}/health", headers={"Host": "evil.example"}).status_code == 421
    for name in ("localhost:5000", "127.0.0.1", "[::1]:80"):
        assert http.get(f"{address}/health", headers={"Host": name}).status_code == 200


def test_origins_are_allowed_by_name(plain_translator: Translator, address: str) -> None:
    asking = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in http.options(f"{address}/translate", headers=asking).headers
    with serving(make_service(obedient(plain_translator), cors=("https://a.example",))) as allowing:
        told = http.options(f"{allowing}/translate", headers=asking)
        assert (told.status_code, told.headers["access-control-allow-origin"]) == (204, "https://a.example")
        told = http.post(f"{allowing}/translate", json=TRANSLATE, headers={"Origin": "https://a.example"})
        assert told.headers["access-control-allow-origin"] == "https://a.example"
        told = http.post(f"{allowing}/translate", json=TRANSLATE, headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in told.headers


def test_keys_and_their_rates(plain_translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    key, slow = add_key(path, "alice"), add_key(path, "bob", rate=2)
    assert path.stat().st_mode & 0o077 == 0
    assert key not in path.read_text()
    with serving(make_service(obedient(plain_translator), keys=KeyRing.load(path))) as address:

        def post(**fields: object) -> httpx.Response:
            return http.post(f"{address}/translate", json={**TRANSLATE, **fields})

        assert post().status_code == 400
        for wrong in ("nonsense", key[:-1], f"{key} ", 7):
            assert (post(api_key=wrong).status_code, post(api_key=wrong).json()) == (403, {"error": "Invalid API key"})
        assert post(api_key=key).json() == {"translatedText": "THE CAT"}
        parts = {"q": (None, "the cat"), "source": (None, "en"), "target": (None, "fr")}
        told = http.post(f"{address}/translate", params={"api_key": key}, files=parts)
        assert told.json() == {"translatedText": "THE CAT"}
        assert [post(api_key=slow).status_code for _ in range(3)] == [200, 200, 429]
        assert int(post(api_key=slow).headers["retry-after"]) >= 1
        assert post(api_key=slow).json()["error"].startswith("Slowdown:")
        assert post(api_key=key, q=["the cat"] * 3).status_code == 200
        assert http.get(f"{address}/api/models").json()["api_key_required"] is True
        for path_of_ours in ("translate", "stream", "explain"):
            body = {"text": "the cat", "source": "en", "target": "fr"}
            assert http.post(f"{address}/api/{path_of_ours}", json=body).status_code == 400
            assert http.post(f"{address}/api/{path_of_ours}", json={**body, "api_key": key}).status_code == 200


def test_rates_fill_up_again_and_their_table_is_bounded() -> None:
    now = 0.0
    rates = Rates(lambda: now, most_clients=3)
    assert [rates.take("a", 2) for _ in range(2)] == [0.0, 0.0]
    assert rates.take("a", 2) == pytest.approx(30.0)
    now = 30.0
    assert rates.take("a", 2) == 0.0
    assert rates.take("b", 2, cost=100) == 0.0
    assert rates.take("b", 2) > 0
    for number in range(100):
        rates.take(f"client {number}", 2)
    assert len(rates) == 3


def test_one_subscriber_is_one_client() -> None:
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:1") != client_of("2001:db8:0:1::1")
    assert client_of("::ffff:192.0.2.1") == client_of("192.0.2.1") == "192.0.2.1"
    assert client_of("testclient") == "unknown"


def test_addresses_have_rates_where_there_are_no_keys(plain_translator: Translator) -> None:
    with serving(make_service(obedient(plain_translator), address_rate=3)) as address:
        body = {**TRANSLATE, "q": ["the cat", "the dog"]}
        assert [http.post(f"{address}/translate", json=body).status_code for _ in range(2)] == [200, 429]
        assert http.get(f"{address}/health").status_code == 200


@pytest.mark.parametrize("log_text", [False, True])
def test_the_log_holds_texts_only_if_asked(
    plain_translator: Translator, caplog: pytest.LogCaptureFixture, log_text: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(make_service(obedient(plain_translator), log_text=log_text)) as address:
        http.post(f"{address}/translate", json={**TRANSLATE, "q": SECRET})
        http.post(f"{address}/translate?q={SECRET}", json={**TRANSLATE, SECRET: 1})
        http.post(f"{address}/translate", json={**TRANSLATE, "q": f"bad\n{SECRET}"})
        http.get(f"{address}/{SECRET}?q={SECRET}")
        http.post(f"{address}/api/stream", json={"text": SECRET, "source": "en", "target": "fr"})
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert any(message.startswith("POST /translate 200") for message in ours)
    assert any(message.startswith("GET other 404") for message in ours)
    assert any(SECRET in message for message in ours) is log_text


def test_a_fault_is_a_fault_and_says_no_more(plain_translator: Translator, caplog: pytest.LogCaptureFixture) -> None:
    with serving(make_service(obedient(plain_translator))) as address:
        told = http.post(f"{address}/translate", json={**TRANSLATE, "q": "bad"})
    assert told.status_code == 500
    assert told.json() == {"error": "Internal error; the server's log says more"}
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "ZeroDivisionError" in logged
    assert "bad luck" not in logged


def test_a_full_queue_says_when_to_come_back(plain_translator: Translator) -> None:
    translator = obedient(plain_translator)
    with serving(make_service(translator, pool={"queue_sentences": 1})) as address:
        translator.gate.clear()
        waiting = threading.Thread(target=http.post, args=(f"{address}/translate",), kwargs={"json": TRANSLATE})
        waiting.start()
        while b"regard_queue_sentences 1.0" not in http.get(f"{address}/metrics").content:
            time.sleep(0.01)
        told = http.post(f"{address}/translate", json=TRANSLATE)
        translator.gate.set()
        waiting.join()
    assert told.status_code == 503
    assert int(told.headers["retry-after"]) >= 1
    assert list(told.json()) == ["error"]


def test_work_that_takes_too_long_is_given_up_and_nobody_is_told_to_come_back(plain_translator: Translator) -> None:
    translator = obedient(plain_translator)
    with serving(make_service(translator, seconds=0.2)) as address:
        translator.gate.clear()
        told = http.post(f"{address}/translate", json=TRANSLATE)
        translator.gate.set()
    assert told.status_code == 503
    assert told.json()["error"].startswith("Took too long: not done within 0.2 s")
    assert "retry-after" not in told.headers


def wait_for_jobs(address: str, count: int) -> None:
    while f"regard_queue_jobs {count}.0" not in http.get(f"{address}/metrics").text:
        time.sleep(0.01)


def test_a_client_who_leaves_frees_the_place(plain_translator: Translator) -> None:
    translator = obedient(plain_translator)
    with serving(make_service(translator, pool={"queue_sentences": 1})) as address:
        translator.gate.clear()
        place = urlsplit(address)
        for path, body in (("/translate", TRANSLATE), ("/api/stream", {"text": "a", "source": "en", "target": "fr"})):
            content = json.dumps(body).encode()
            with socket.create_connection((place.hostname, place.port)) as connection:
                connection.sendall(head(path, Content_Length=str(len(content))) + content)
                wait_for_jobs(address, 1)
            wait_for_jobs(address, 0)
        translator.gate.set()
        assert http.post(f"{address}/translate", json=TRANSLATE).json() == {"translatedText": "THE CAT"}


def test_figures_have_bounded_labels(address: str, service: Service) -> None:
    for number in range(20):
        http.get(f"{address}/nowhere/{number}")
        http.request(f"ODD{number}", f"{address}/translate")
    http.post(f"{address}/translate", json=TRANSLATE)
    page = http.get(f"{address}/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "nowhere" not in page.text
    assert "ODD" not in page.text
    for name in (
        'regard_requests_total{method="POST",route="/translate",status="200"}',
        'regard_requests_total{method="GET",route="other",status="404"}',
        'regard_request_seconds_bucket{le="0.005",route="/translate"}',
        "regard_queue_sentences 0.0",
        'regard_batch_sentences_count{pair="en-fr"}',
        'regard_tokens_total{pair="en-fr",side="target"}',
    ):
        assert name in page.text
