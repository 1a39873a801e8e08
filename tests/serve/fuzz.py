"""Throws requests at the service: some made from its own description by schemathesis, some by hand, and worse.

    .venv/bin/python tests/serve/fuzz.py --count 10000 [--model runs/demo]

No answer may be a fault of the server (5xx, but for 503), each must come in time, and each error must be
`{"error": "..."}`. A third of the requests comes from schemathesis.
"""

import argparse
import contextlib
import json
import logging
import random
import socket
import string
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

SECONDS = 60.0
POST = ("/translate", "/detect", "/api/translate", "/api/stream", "/api/explain", "/languages")
GET = (
    "/",
    "/languages",
    "/health",
    "/frontend/settings",
    "/spec",
    "/docs",
    "/metrics",
    "/api/models",
    "/static/app.js",
)
TEXTS = (
    "the cat eats 3 apples.", "", " ", "\n\n", "a" * 1999, "a" * 2500, "😀🦓", "\u202e\u0301e\u0301",
    "<b>the <i>cat</b></i>",
    "the dog. the cat! a man?\n- a list\n\n1. an item", "{name} %s ${x} https://a.example/?q=1 a@b.example <x/> &amp;",
    "汉字。漢字！", "\u2028\u2029\x0b\x0c\x85\x1c", "\x7f\x01\x02", "\ufeff\ufffe\uffff", "'; DROP TABLE users; --",
    "x" * 60000, "<script>alert(1)</script>", "<p>" * 300, "the " * 400, "&#0;&#x110000;&#xd800;&nosuch;",
    "\u202ethe cat\u202c", "İıſ",
)  # fmt: skip
VALUES = (
    None, True, False, 0, 1, -1, 2**31, 10**17, 1.5, -0.0, [], {}, [[]], ["a"], [None], {"a": 1}, "en", "fr", "auto",
    "zz", "EN", "en-US", "html", "text", "11", "-3", "٣", *TEXTS,
)  # fmt: skip
NAMES = (
    "q", "source", "target", "format", "alternatives", "api_key", "secret", "text", "texts", "best", "glossary",
    "keep_spans", "alignment", "translation", "beam", "__proto__", "q[]", "", "\u0000", "Q",
)  # fmt: skip
RAW = (
    b"", b"{", b"[", b"null", b"NaN", b'{"q": NaN}', b'{"q": 1e999}', b'{"q": "\\ud800"}', b'{"q": "\\u0000"}',
    b'{"q": "x", "q": "y"}', b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000, b"\xff\xfe",
    b'{"q": "\xed\xa0\x80"}', b" " * 140_000, b'"' * 1000, b'{"q":' + b"9" * 10_000 + b"}", b"q=%", b"q=%ff",
    b"=" * 3000, b"--a\r\n\r\n", b"\x00" * 100,
)  # fmt: skip
KINDS = (
    "application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a", "multipart/form-data", "text/plain", "", "application/json; charset=utf-16",
    "multipart/form-data; boundary=" + "a" * 300, "é",
)  # fmt: skip


@dataclass
class Tally:
    """What became of the requests."""

    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    described: int = 0
    """How many of them were made from the service's own description."""
    began: float = field(default_factory=time.monotonic)

    @property
    def count(self) -> int:
        return self.answers.total()

    def add(self, what: str, status: int, body: bytes, kind: str) -> None:
        """Take an answer; one that is not as it should be is a fault."""
        self.answers[str(status)] += 1
        if status >= 500 and status != 503:
            self.faults.append(f"{status} for {what}")
        elif status >= 400 and not _is_error(body):
            self.faults.append(f"no well-formed error ({status}, {kind}) for {what}")

    def hung(self, what: str) -> None:
        self.answers["hung"] += 1
        self.faults.append(f"no answer in {SECONDS:g} s for {what}")

    def closed(self, what: str) -> None:
        """The server closed the connection without a word: right only where no request had been sent."""
        self.answers["closed"] += 1
        self.faults.append(f"closed without an answer: {what}")

    def to_text(self) -> str:
        counts = ", ".join(f"{name}: {count:,}" for name, count in sorted(self.answers.items()))
        seconds = time.monotonic() - self.began
        lines = [
            f"{self.count:,} requests in {seconds:.0f} s, {self.described:,} of them by schemathesis",
            f"answers: {counts}",
            f"{len(self.faults):,} faults",
        ]
        return "\n".join(lines + self.faults[:20])


def _is_error(body: bytes) -> bool:
    try:
        told = json.loads(body)
    except ValueError:
        return body == b""  # the answer to HEAD
    return isinstance(told, dict) and list(told) == ["error"] and isinstance(told["error"], str) and bool(told["error"])


# By hand


def throw_by_hand(address: str, count: int, seed: int, tally: Tally) -> None:
    """Requests that somebody thought of, mixed by chance."""
    chance = random.Random(seed)
    for _ in range(count):
        sent = _request(chance)
        _throw(address, sent, tally)


def _request(chance: random.Random) -> bytes:
    path = chance.choice(POST)
    draw = chance.random()
    if draw < 0.1:
        method = chance.choice(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"))
        path = chance.choice(
            (*GET, *POST, "/nowhere", "/" + quote(chance.choice(TEXTS)[:300]), "/static/../../etc/passwd")
        )
        return _head(chance, method, path, {}) + b"\r\n"
    if draw < 0.16:
        return _no_http(chance)
    kind, body = _body(chance)
    headers = {"Content-Type": kind, "Content-Length": str(len(body))}
    if draw < 0.22:
        headers.pop("Content-Length")
        headers["Transfer-Encoding"] = "chunked"
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in _cut(chance, body)) + b"0\r\n\r\n"
    return _head(chance, "POST", path, headers) + b"\r\n" + body


def _head(chance: random.Random, method: str, path: str, headers: dict[str, str]) -> bytes:
    every = {"Host": "127.0.0.1", "Connection": "close", **headers}
    if chance.random() < 0.05:
        every |= chance.choice(
            (
                {"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Host": ""},
                {"Upgrade": "websocket", "Connection": "Upgrade"}, {"X-Long": "x" * 20_000},
                {"Expect": "100-continue"}, {"Accept": "nothing/at-all"},
                {"Content-Encoding": "gzip"}, {"X-Forwarded-For": "1.2.3.4, evil"}, {"Content-Length": "0"},
            )
        )  # fmt: skip
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items())]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8")


def _no_http(chance: random.Random) -> bytes:
    return chance.choice(
        (
            b"\r\n\r\n\r\nGET\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
            b"A" * 70_000 + b"\r\n\r\n",
            b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
            b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            b"GET http://[ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
            b"GET /%00%ff HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        )
    )  # fmt: skip


def _body(chance: random.Random) -> tuple[str, bytes]:
    draw = chance.random()
    if draw < 0.15:
        return chance.choice(KINDS).encode("ascii", "ignore").decode(), chance.choice(RAW)
    fields = dict(
        chance.choice(
            ({"q": "the cat", "source": "en", "target": "fr"}, {"text": "the cat", "source": "en", "target": "fr"}, {})
        )
    )
    for _ in range(chance.randint(0, 3)):
        fields[chance.choice(NAMES)] = chance.choice(VALUES)
    if chance.random() < 0.3 and fields:
        fields.pop(chance.choice(list(fields)))
    if draw < 0.35:
        pairs = "&".join(f"{quote(str(name))}={quote(str(value))}" for name, value in fields.items())
        return "application/x-www-form-urlencoded", pairs.encode()
    text = json.dumps(fields, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.2:  # a letter changed
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(string.printable) + text[place + 1 :]
    return "application/json", text.encode()


def _cut(chance: random.Random, body: bytes) -> list[bytes]:
    size = chance.randint(1, max(1, len(body)))
    return [body[start : start + size] for start in range(0, len(body), size)][:500]


def _throw(address: str, sent: bytes, tally: Tally) -> None:
    place = urlsplit(address)
    what = repr(sent[:300])
    received = b""
    try:
        with socket.create_connection((place.hostname, place.port), timeout=SECONDS) as connection:
            with contextlib.suppress(ConnectionError):  # it may have answered before it took all
                connection.sendall(sent)
            while part := connection.recv(65536):
                received += part
    except TimeoutError:
        if not received:
            tally.hung(what)
            return
    except ConnectionError:
        pass
    if not received:
        tally.closed(what)
        return
    if received.startswith(b"HTTP/1.1 100"):
        received = received.split(b"\r\n\r\n", 1)[-1]
    head, _, body = received.partition(b"\r\n\r\n")
    kind = next((line[14:].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"content-type: ")), "")
    tally.add(what, int(head.split(b" ")[1]), body, kind)


# By the description


def throw_by_description(address: str, count: int, tally: Tally) -> None:
    """Requests that fit the service's own OpenAPI, and ones that just do not."""
    import requests
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    schema = schemathesis.openapi.from_url(f"{address}/spec")
    operations = [result.ok() for result in schema.get_all_operations()]
    kinds = [(each, mode) for each in operations for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]
    with_body = [kind for kind in kinds if kind[0].body]
    session = requests.Session()

    def throw_at(operation: object, mode: GenerationMode, examples: int) -> None:
        @seed(tally.count)  # another round throws others
        @settings(
            max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))  # type: ignore[attr-defined]
        def throw(case: schemathesis.Case) -> None:
            what = f"{mode} {case.method} {case.path} {case.body!r:.300}"
            try:
                answer = case.call(session=session, timeout=SECONDS)
            except requests.exceptions.Timeout:
                tally.hung(what)
                return
            except (requests.exceptions.RequestException, UnicodeError, ValueError):
                return  # a request that cannot be sent
            tally.add(what, answer.status_code, answer.content, answer.headers.get("content-type", [""])[0])

        with contextlib.suppress(Unsatisfiable):
            throw()

    before = tally.count
    for operation, mode in kinds:
        throw_at(operation, mode, 5)
    while (left := count - (tally.count - before)) > 0:
        share = max(1, left // len(with_body))
        for operation, mode in with_body:
            throw_at(operation, mode, max(1, min(share, count - (tally.count - before))))
        if count - (tally.count - before) == left:
            break


def fuzz(address: str, count: int, seed: int = 1) -> Tally:
    """Throw requests of both kinds."""
    tally = Tally()
    throw_by_description(address, count // 3, tally)
    tally.described = tally.count
    throw_by_hand(address, count - tally.count, seed, tally)
    return tally


@contextlib.contextmanager
def _tiny_model() -> Iterator[Path]:
    from tiny_world import write_tiny_corpus

    from regard.pipeline import train_run

    with tempfile.TemporaryDirectory() as folder:
        train_run(write_tiny_corpus(Path(folder) / "corpus"), Path(folder) / "run")
        yield Path(folder) / "run"


def main() -> int:
    from http_world import make_service, serving

    from regard.search.translator import Translator
    from regard.serve.pool import Pool

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="requests")
    parser.add_argument("--seed", type=int, default=1, help="another seed throws others")
    parser.add_argument("--model", type=Path, help="a model folder; otherwise a tiny one is trained")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    with contextlib.ExitStack() as stack:
        folder = arguments.model or stack.enter_context(_tiny_model())
        service = make_service(Translator.load(folder), pool_type=Pool, body_seconds=2.0, header_seconds=2.0)
        address = stack.enter_context(serving(service))
        tally = fuzz(address, arguments.count, arguments.seed)
    print(tally.to_text())
    return bool(tally.faults)


if __name__ == "__main__":
    sys.exit(main())
