"""Connections with limits: how large headers are, how long they take, how many clients there are."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from regard.serve.departure import KEY, Departure
from regard.serve.express import ExpressLane
from regard.serve.guard import SAFETY, Guard
from regard.serve.metrics import OTHER
from regard.serve.settings import ServeSettings

LINGER = 0.5
"""Seconds in which a client who is refused may take the answer, and whatever it sends is dropped."""
LEAST_TAKEN = 16_384
"""Bytes of an answer that waits which a client has to take in the time that a body may take to arrive."""
HELD = 0.02
"""Seconds in which a body that did not come with its head may follow, so that both can take the express lane."""
_PHRASES = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_SAFETY = "".join(f"{name}: {value}\r\n" for name, value in SAFETY.items())


class GatheringTransport:
    """The transport of one answer, which keeps the head until the body comes: both then go in one packet."""

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        self._transport, self._cycle = transport, cycle
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Send; the first that belongs to the answer, which is its head, waits for the next."""
        if self._head is None and self._cycle.response_started:
            self._head = data
        else:
            self._send(data)

    def close(self) -> None:
        """Send what waits, and close."""
        self._send(b"")
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._transport.is_closing()

    def _send(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        if data:
            self._transport.write(data)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, for clients that are slow, or send headers without end, or are too many."""

    settings = ServeSettings()
    lane: ExpressLane | None = None
    guard: Guard | None = None
    """Who counts what is refused here, before there is a request to count."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.departure = Departure(self.flow.resume_reading)
        self._held: tuple[RequestResponseCycle, Any] | None = None
        self._held_timer: asyncio.TimerHandle
        self._may_hold = False
        self._timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._untaken = 0
        self._head_bytes = 0
        self._refused = False
        self._leaves_http = False
        if len(self.connections) > self.settings.connections:
            self.refuse(503, "Server busy: there are as many connections as it can hold", "Retry-After: 5\r\n")
            return
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self._forget_reader()
        self._let_go()
        super().connection_lost(exc)
        self.departure.happen()

    def data_received(self, data: bytes) -> None:
        if self._refused or self._leaves_http:
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > self.settings.header_bytes:
            self._refuse_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._timer is not None:  # and not behind the body, where nobody looks at it
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        self._wait_for_head()
        super().on_message_begin()
        cast(dict[str, Any], self.scope)[KEY] = self.departure

    def on_headers_complete(self) -> None:
        self._head_is_there()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.settings.header_bytes:
            self._refuse_head()
            return
        self._may_hold = True
        try:
            super().on_headers_complete()
        finally:
            self._may_hold = False
        if self.scope["method"] != "HEAD":  # whose answer has no body to wait for
            self.cycle.transport = cast(asyncio.Transport, GatheringTransport(self.transport, self.cycle))
        # What follows is another protocol's, which nobody here speaks: it is dropped until the connection is idle.
        self._leaves_http = self.parser.should_upgrade()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0  # what comes without a body, behind it or between its parts, is bounded, too
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            self._head_bytes = 0
            super().on_message_complete()
        if self._held is not None and self.lane is not None and self.lane.begin(self, self._held[0]):
            self._forget_held()
        self._let_go()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin with a request, or keep it for a moment: where its body is there, too, it may take the express lane."""
        lane = self.lane if self._may_hold and not self.flow.write_paused else None
        if lane is not None and lane.takes(cast(Scope, cycle.scope)):
            self._held = cycle, app
            self._held_timer = self.loop.call_later(HELD, self._let_go)
        else:
            self.start(cycle, app)

    def _let_go(self) -> None:
        """What is kept goes the ordinary way."""
        if (held := self._held) is not None:
            self._forget_held()
            self.start(*held)

    def _forget_held(self) -> None:
        if self._held is not None:
            self._held = None
            self._held_timer.cancel()

    def start(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Let an application answer."""
        super()._start_asgi_task(cycle, app)

    def answer(self, cycle: RequestResponseCycle, headers: bytes, body: bytes) -> None:
        """Send a whole answer, and be ready for the next request."""
        cycle.response_started = cycle.response_complete = True
        own = b"".join(b"%b: %b\r\n" % pair for pair in cycle.default_headers)
        last = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
        self.transport.write(b"".join((STATUS_LINE[200], own, headers, last, body)))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_reader()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_reader()

    def send_400_response(self, msg: str) -> None:
        self.refuse(400, f"Invalid request: {msg}")

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: the request is answered as if it had not asked for another protocol."""

    def refuse(self, status: int, sentence: str, headers: str = "") -> None:
        """Answer without asking the application, once, and close the connection."""
        if self._refused:
            return
        self._refused = True
        self._head_is_there()
        self._forget_held()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whatever the application still answers is for nobody
            self.cycle.message_event.set()
        self.departure.happen()
        if self.transport.is_closing():
            return
        if self.guard is not None:
            self.guard.count(OTHER, OTHER, status, 0.0)
        body = json.dumps({"error": sentence})
        self.transport.write(
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"{_SAFETY}Cache-Control: no-store\r\nConnection: close\r\n{headers}\r\n{body}".encode("ascii")
        )
        if self.transport.can_write_eof():
            self.transport.write_eof()
        # Closed at once, with something unread, the connection would be reset, and the answer lost.
        self.loop.call_later(LINGER, self.transport.close)

    def _watch_reader(self) -> None:
        """An answer that nobody takes must not be kept for ever."""
        self._untaken = self.transport.get_write_buffer_size()
        if self._untaken and self._reader_timer is None:
            self._reader_timer = self.loop.call_later(self.settings.body_seconds, self._look_at_reader)

    def _look_at_reader(self) -> None:
        self._reader_timer = None
        if self.transport.get_write_buffer_size() > max(0, self._untaken - LEAST_TAKEN):
            self.transport.abort()
        else:
            self._watch_reader()

    def _forget_reader(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _refuse_head(self) -> None:
        self.refuse(431, f"Invalid request: the headers have more than {self.settings.header_bytes} bytes")

    def _wait_for_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.settings.header_seconds, self._head_is_late)

    def _head_is_there(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()  # an answer is still on its way on this connection
        else:
            self.refuse(408, f"Invalid request: the headers did not arrive within {self.settings.header_seconds:g} s")


def bounded_protocol(settings: ServeSettings, guard: Guard, lane: ExpressLane | None) -> type[BoundedProtocol]:
    """The protocol with the limits of some settings, and a lane for requests that need no application."""
    members: dict[str, Any] = {"settings": settings, "guard": guard, "lane": lane}
    return type("BoundedProtocol", (BoundedProtocol,), members)
