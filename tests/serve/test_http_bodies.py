"""Odd bodies: broken JSON, forms and parts are refused, take no time, and are repeated nowhere."""

import time
from collections.abc import Iterator

import pytest
from http_world import SECRET, http, make_service, obedient, serving

from regard.search.translator import Translator


@pytest.fixture(scope="module")
def address(plain_translator: Translator) -> Iterator[str]:
    with serving(make_service(obedient(plain_translator))) as found:
        yield found


BAD_BODIES = {
    "not JSON": b"{",
    "not UTF-8": b'{"q": "\xff"}',
    "NaN": b'{"q": "%s", "source": "en", "target": "fr", "alternatives": NaN}' % SECRET.encode(),
    "Infinity": b'{"q": "x", "source": "en", "target": "fr", "alternatives": -Infinity}',
    "huge number": b'{"q": "x", "source": "en", "target": "fr", "alternatives": 1' + b"0" * 5000 + b"}",
    "surrogate": b'{"q": "%s \\ud800", "source": "en", "target": "fr"}' % SECRET.encode(),
    "surrogate in a name": b'{"q": "x", "source": "en", "target": "fr", "\\udc00": 1}',
    "NUL": b'{"q": "%s \\u0000", "source": "en", "target": "fr"}' % SECRET.encode(),
    "twice": b'{"q": "x", "q": "%s", "source": "en", "target": "fr"}' % SECRET.encode(),
    "deep lists": b'{"q": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep and open": b"[" * 100_000,
    "a number": b"7",
    "null": b"null",
    "nothing": b"",
    "q an object": b'{"q": {"%s": 1}, "source": "en", "target": "fr"}' % SECRET.encode(),
    "list in a list": b'{"q": [["x"]], "source": "en", "target": "fr"}',
}
BAD_VALUES = {
    "huge power": b'{"q": "x", "source": "en", "target": "fr", "alternatives": 1e999}',
    "fraction": b'{"q": "x", "source": "en", "target": "fr", "alternatives": 1.5}',
    "truth": b'{"q": "x", "source": "en", "target": "fr", "alternatives": true}',
    "source a secret": b'{"q": "x", "source": "%s %s", "target": "fr"}' % ((SECRET.encode(),) * 2),
}
"""Of fields that only some endpoints know."""
POST = ("/translate", "/detect", "/api/translate", "/api/stream", "/api/explain")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((path, name) for path in POST for name in BAD_BODIES),
        *((path, name) for path in POST if path != "/detect" for name in BAD_VALUES),
    ],
)
def test_odd_bodies_are_refused_and_not_repeated(address: str, path: str, name: str) -> None:
    body = {**BAD_BODIES, **BAD_VALUES}[name]
    told = http.post(address + path, content=body, headers={"Content-Type": "application/json"})
    assert told.status_code == 400
    assert list(told.json()) == ["error"]
    assert SECRET not in told.text


@pytest.mark.parametrize("path", ["/api/translate", "/api/stream", "/api/explain"])
def test_unknown_fields_of_our_own_endpoints_are_refused_and_not_repeated(address: str, path: str) -> None:
    told = http.post(address + path, json={"text": "x", "source": "en", "target": "fr", SECRET: 1})
    assert told.status_code == 400
    assert told.json()["error"].startswith("Invalid request: there is an unknown field; known are ")
    assert SECRET not in told.text


@pytest.mark.parametrize(
    "body",
    [
        b"q=%ff&source=en&target=fr",
        b"q=a%00b&source=en&target=fr",
        b"\xff=\xfe",
        b"q=x&source=en&source=fr&target=fr",
        b"&".join([b"q=x"] * 2000),
    ],
)
def test_odd_forms_are_refused(address: str, body: bytes) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    told = http.post(f"{address}/translate", content=body, headers=kind)
    assert told.status_code == 400
    assert list(told.json()) == ["error"]


def test_odd_multiparts_are_refused(address: str) -> None:
    for kind, body in (
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=a", b"--a\r\n\r\n\xff\r\n--a--"),
        ("multipart/form-data; boundary=a", b"--a"),
        ("multipart/form-data; boundary=a", b'--a\r\nContent-Disposition: form-data; name="q"\r\n\r\nx\r\n--a--'),
    ):
        told = http.post(f"{address}/translate", content=body, headers={"Content-Type": kind})
        assert told.status_code == 400, body
    assert http.post(f"{address}/translate", content=b"x", headers={"Content-Type": "image/png"}).status_code == 415


def test_a_form_in_parts(address: str) -> None:
    fields = {"q": "the cat; name=\r\n--", "source": "en", "target": "fr"}
    told = http.post(f"{address}/translate", files={name: (None, value) for name, value in fields.items()})
    assert told.json() == {"translatedText": "THE CAT; NAME=\n--"}


def test_parts_inside_parts_take_no_time(address: str) -> None:
    body = "".join(f"--{n}\r\nContent-Type: multipart/mixed; boundary={n + 1}\r\n\r\n" for n in range(2000))
    began = time.process_time()  # the server's as well, which is a thread of this process; not that of others
    kind = {"Content-Type": "multipart/form-data; boundary=0"}
    assert http.post(f"{address}/translate", content=body.encode(), headers=kind).status_code == 400
    assert time.process_time() - began < 2
