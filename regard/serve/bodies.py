"""Bodies of requests: read with limits of size and time, and parsed so that nothing odd gets further."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from regard.serve.refusals import ClientLeft, Refusal
from regard.serve.settings import ServeSettings

DEEPEST = 16
MOST_FIELDS = 1000
DRAINED = 8
"""So many times the limit is read, and dropped: who is cut off while sending may never see why."""
Fields = dict[str, Any]
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_NAME = re.compile(r';\s*name=(?:"([^"]*)"|([^\s;"]+))', re.IGNORECASE)


async def read_fields(request: Request, settings: ServeSettings) -> tuple[Fields, bool]:
    """The fields of a request, and whether they came as JSON; otherwise as a form, and all values are strings.

    A field that a form has several times is a list of strings.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request, settings)
    if kind == "application/json" or kind.endswith("+json"):
        return parse_json(body), True
    if kind == "multipart/form-data":
        pairs = _parse_multipart(body, request.headers["content-type"])
    elif kind in ("application/x-www-form-urlencoded", ""):
        pairs = _parse_form(body)
    else:
        raise Refusal(415, "Invalid request: send application/json or application/x-www-form-urlencoded")
    # LibreTranslate reads a form together with the address.
    return _gathered([*pairs, *_parse_form(request.scope["query_string"])]), False


async def read_body(request: Request, settings: ServeSettings) -> bytes:
    """The whole body, if it is not too large and arrives in time, whatever its headers say of its length."""
    limit = settings.body_bytes
    length = request.headers.get("content-length", "")
    declared = int(length[:18]) if length.isdecimal() else 0
    if declared > DRAINED * limit or (declared > limit and "expect" in request.headers):
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            more = True
            while more and size <= DRAINED * limit:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                parts += [part] if size <= limit else []
    except TimeoutError:
        if max(declared, size) <= limit:
            raise Refusal(408, f"the body did not arrive within {settings.body_seconds:g} s") from None
    if max(declared, size) > limit:
        raise _too_large(limit)
    return b"".join(parts)


def parse_json(body: bytes) -> Fields:
    """An object of JSON: UTF-8, no NaN, nothing twice, not deep, and only whole characters."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal.bad("the body is not UTF-8") from None
    if _depth(text) > DEEPEST:
        raise Refusal.bad("JSON is nested too deeply")
    try:
        document = _JSON.decode(text)
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid JSON format") from None
    if not isinstance(document, dict):
        raise Refusal(400, "Invalid JSON format")
    _check_texts(document)
    return document


def _depth(text: str) -> int:
    """How deep brackets go, counted before anything is built; those inside strings count, too, if there are many."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = quoted
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif not quoted and character in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _whole(digits: str) -> int:
    if len(digits) > 18:
        raise ValueError("no number that a request needs")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Refusal.bad("a field comes twice")
    return fields


_JSON = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole, object_pairs_hook=_once)


def _check_texts(value: Any) -> None:
    """Refuse half of a surrogate pair, and NUL, wherever they are."""
    if isinstance(value, str):
        if "\0" in value:
            raise Refusal.bad("a text holds a null character")
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise Refusal.bad("a text holds half of a surrogate pair")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_texts(name)
            _check_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_texts(inner)


def _parse_form(form: bytes) -> list[tuple[str, str]]:
    """Names and values of a body or of the end of an address."""
    try:
        return parse_qsl(form.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refusal.bad("the form cannot be read") from None


def _parse_multipart(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """Fields of a form in parts, in one pass: no part has parts, and one of its headers is looked at."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise Refusal.bad("the form cannot be read")
    mark = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
    _, *parts = (b"\r\n" + body).split(mark, MOST_FIELDS + 1)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise Refusal.bad("the form cannot be read")
    return [_part(part) for part in parts[:-1]]


def _part(part: bytes) -> tuple[str, str]:
    """The name and the value of a part."""
    head, blank, content = part.partition(b"\r\n\r\n")
    try:
        for line in head.decode("utf-8").split("\r\n"):
            header, _, value = line.partition(":")
            if header.strip().lower() == "content-disposition" and (name := _NAME.search(value)) and blank:
                return name[1] or name[2] or "", content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise Refusal.bad("the form cannot be read")


def _gathered(pairs: list[tuple[str, str]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        _check_texts(name)
        _check_texts(value)
        if name in fields:
            fields[name] = [*(fields[name] if isinstance(fields[name], list) else [fields[name]]), value]
        else:
            fields[name] = value
    return fields


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"Invalid request: the body has more than {limit:,} bytes")
