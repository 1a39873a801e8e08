"""The express lane: a plain text to translate, whose body came with its head, is answered without a task of its own.

Everything else, and whatever goes wrong before the search has begun, is left to the application, which looks at it
anew: the lane never refuses anybody. What it answers is the same to the byte.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Protocol, cast

from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from regard.serve.bodies import parse_json
from regard.serve.departure import Departure
from regard.serve.guard import ADDED_AT_HOME, CLIENT_LEFT, Guard
from regard.serve.jobs import Answer, Job
from regard.serve.languages import AUTO
from regard.serve.libretranslate import TRANSLATE, Asked, admit_translation, asked_of
from regard.serve.requests import Request
from regard.serve.routing import Served
from regard.serve.sentences import cut, has_spans
from regard.serve.service import Service
from regard.text.documents import Piece, replaced, sentences_of

METHOD, OK = "POST", 200
SMALL, DIGITS = 4096, 4
"""Bytes of a body that is likely to be there at once."""
_UNUSUAL = frozenset((b"origin", b"expect", b"transfer-encoding", b"upgrade"))
_HEADERS = b"".join(b"%b: %b\r\n" % pair for pair in ((b"content-type", b"application/json"), *ADDED_AT_HOME))


class Connection(Protocol):
    """What the lane needs of a connection."""

    departure: Departure

    def answer(self, cycle: RequestResponseCycle, headers: bytes, body: bytes) -> None: ...

    def start(self, cycle: RequestResponseCycle, app: ASGIApp) -> None: ...


class ExpressLane:
    """Takes requests from connections, and hands their sentences to the pool."""

    def __init__(self, service: Service, guard: Guard) -> None:
        self.service, self.guard = service, guard
        self._longest = min(SMALL, service.settings.body_bytes)

    def takes(self, scope: Scope) -> bool:
        """Whether a request may be a plain one, by its head."""
        if scope["path"] != TRANSLATE or scope["method"] != METHOD:
            return False
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        return (
            headers.get(b"content-type") == b"application/json"
            and len(length) <= DIGITS
            and length.isdigit()
            and int(length) <= self._longest
            and len(headers) == len(scope["headers"])
            and headers.keys().isdisjoint(_UNUSUAL)
            and self.guard.goes_by(headers.get(b"host", b""))
        )

    def begin(self, connection: Connection, cycle: RequestResponseCycle) -> bool:
        """Have a request translated whose body is there; False where that is the application's to do."""
        try:
            fields = parse_json(bytes(cycle.body))
            client = admit_translation(self.service, cast(Scope, cycle.scope), fields)
            served, pieces, texts = self._plain(asked_of(self.service, fields, is_json=True))
            if served is None:
                return False
            request = self.service.pool.begin(served.languages, Job(texts), client=client)
        except Exception:  # the application says what is wrong
            return False
        self.service.note_texts(str(served.languages), ["".join(piece.text for piece in pieces)])
        _Ride(self, connection, cycle, request, pieces)
        return True

    def _plain(self, asked: Asked) -> tuple[Served | None, list[Piece], tuple[str, ...]]:
        """The model, the pieces of the text and its sentences; no model where there is more to it than a search."""
        if asked.is_list or asked.html or asked.alternatives or asked.source == AUTO:
            return None, [], ()
        served = self.service.model_for(asked.source, asked.target)
        if served is None:
            return None, [], ()
        pieces = cut(served.translator, asked.texts[0], self.service.settings.sentence_tokens, keep_spans=False)
        texts = tuple(sentences_of(pieces))
        return (None if not texts or any(map(has_spans, texts)) else served), pieces, texts


class _Ride:
    """One request in the lane, until its answer is sent or nobody wants it any more."""

    def __init__(
        self,
        lane: ExpressLane,
        connection: Connection,
        cycle: RequestResponseCycle,
        request: Request,
        pieces: Sequence[Piece],
    ) -> None:
        self._lane, self._connection, self._cycle, self._request = lane, connection, cycle, request
        self._pieces, self._began, self._left = pieces, time.perf_counter(), False
        lane.guard.metrics.in_flight.inc()
        request.answer.add_done_callback(self._arrive)
        connection.departure.tell(self._leave)

    def _arrive(self, answer: asyncio.Future[Answer]) -> None:
        if self._left:  # in the moment between the answer and this call
            return
        self._end()
        try:
            best = [found[0].text for found in answer.result().translations]
            text = "".join(replaced(self._pieces, best, *self._request.served.translator.languages))
            told = json.dumps({"translatedText": text}, ensure_ascii=False, separators=(",", ":")).encode()
        except Exception as error:
            self._connection.start(self._cycle, self._lane.guard.failing(error, self._began))
            return
        self._connection.answer(self._cycle, b"content-length: %d\r\n%b" % (len(told), _HEADERS), told)
        self._lane.guard.count(METHOD, TRANSLATE, OK, time.perf_counter() - self._began)

    def _leave(self) -> None:
        self._left = True
        self._request.answer.remove_done_callback(self._arrive)
        self._end()
        self._lane.guard.count(METHOD, TRANSLATE, CLIENT_LEFT, time.perf_counter() - self._began)

    def _end(self) -> None:
        self._connection.departure.forget(self._leave)
        self._lane.service.pool.end(self._request)
        self._lane.guard.metrics.in_flight.dec()
