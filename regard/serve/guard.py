"""What stands around every request: the name it calls us by, headers for safety, figures, the log, and faults."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.faults import log_fault
from regard.serve.metrics import OTHER, Metrics
from regard.serve.refusals import ClientLeft, Refusal, refusal_of
from regard.serve.settings import ServeSettings

log = logging.getLogger("regard.serve")
STATIC = "/static/"
CLIENT_LEFT = 499
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFETY: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_ADDED = [(name.lower().encode(), value.encode()) for name, value in {**SAFETY, "Cache-Control": "no-store"}.items()]
"""What every answer has that says nothing else."""
ADDED_AT_HOME = [*_ADDED, (b"cross-origin-resource-policy", b"same-origin")]
"""The same, for those who are not on another site."""
_PREFLIGHT = {b"origin", b"access-control-request-method"}
_PORT = re.compile(r":\d{1,5}$")
Endpoint = Callable[[Request], Awaitable[Response]]


class Guard:
    """Wraps the application; `direct` are endpoints, by path, to which a POST goes by the shortest way.

    Finding a route and its parameters costs as much as all else that Python does for a translation.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServeSettings,
        metrics: Metrics,
        paths: Collection[str],
        direct: Mapping[str, Endpoint],
    ) -> None:
        self._app, self._settings, self.metrics, self._direct = app, settings, metrics, direct
        self._paths = frozenset(paths)
        self._hosts = settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            exchange = _Exchange(scope, receive, send, self._settings)
            await self._around(scope, exchange, self._answer(scope, exchange), time.perf_counter())

    def failing(self, error: Exception, began: float) -> ASGIApp:
        """An application that tells of an error in a request which began at that time."""

        async def fail(exchange: _Exchange) -> None:
            await exchange.receive()  # the body is there, and does not hold the connection
            raise error

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            exchange = _Exchange(scope, receive, send, self._settings)
            await self._around(scope, exchange, fail(exchange), began)

        return app

    async def _around(self, scope: Scope, exchange: _Exchange, work: Awaitable[None], began: float) -> None:
        """Do the work of an answer; tell what goes wrong, and count how it ends."""
        self.metrics.in_flight.inc()
        try:
            await work
        except ClientLeft:
            exchange.status = CLIENT_LEFT
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None:
                log_fault(error)
                refusal = Refusal(500, "Internal error; the server's log says more")
            if not exchange.status:
                await refused(refusal)(scope, exchange.receive, exchange.send)
        finally:
            self.metrics.in_flight.dec()
            seconds = time.perf_counter() - began
            self.count(scope["method"], self.route_of(scope["path"]), exchange.status or CLIENT_LEFT, seconds)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        self.metrics.add_request(route, method, status, seconds)
        log.info("%s %s %d %.0f ms", method[:10], route, status, 1000 * seconds)

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        if not self.goes_by(exchange.headers.get(b"host", b"")):
            raise Refusal(421, "Invalid request: this server does not go by that name; its setting `hosts` says which")
        if scope["method"] == "OPTIONS" and exchange.headers.keys() >= _PREFLIGHT:
            await _preflight()(scope, exchange.receive, exchange.send)
            return
        endpoint = self._direct.get(scope["path"]) if scope["method"] == "POST" else None
        if endpoint is None:
            await self._app(scope, exchange.receive, exchange.send)
            return
        response = await endpoint(Request(scope, exchange.receive, exchange.send))
        await response(scope, exchange.receive, exchange.send)

    def goes_by(self, host: bytes) -> bool:
        """Whether a request calls the server by one of its names."""
        return self._hosts is None or _name_of(host) in self._hosts

    def route_of(self, path: str) -> str:
        """The label of a path: one that we have, or `other`."""
        if path in self._paths:
            return path
        return STATIC if path.startswith(STATIC) else OTHER


class _Exchange:
    """A request and its answer on their way, with headers added to the one and the end of the other noted."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: ServeSettings) -> None:
        self.headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        """Of the request; where one comes twice, the first."""
        self._receive, self._send = receive, send
        self._unread = b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0") != b"0"
        origin = self.headers.get(b"origin", b"").decode("latin-1") if settings.cors else ""
        self._origin = origin if origin and _allowed(origin, settings) else None
        self.status = 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message["headers"]}
            added = _ADDED if self._origin is not None else ADDED_AT_HOME
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in given)]
            if self._origin is not None:
                headers = MutableHeaders(scope=message)
                headers["Access-Control-Allow-Origin"] = self._origin
                headers.add_vary_header("Origin")
            if self._unread:  # what is left of the body must not hold the connection
                MutableHeaders(scope=message)["Connection"] = "close"
        await self._send(message)


def refused(refusal: Refusal) -> Response:
    """A refusal as an answer: always the same form."""
    return JSONResponse({"error": refusal.sentence}, refusal.status, refusal.headers)


def _preflight() -> Response:
    """The answer to a browser that asks first; whether its origin is allowed, another header says."""
    headers = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "3600",
    }
    return Response(status_code=204, headers=headers)


def _allowed(origin: str, settings: ServeSettings) -> bool:
    return "*" in settings.cors or origin in settings.cors


@lru_cache(maxsize=64)
def _name_of(host: bytes) -> str:
    """The name in a Host header, without its port and without the brackets of IPv6."""
    return _PORT.sub("", host.decode("latin-1").strip().lower()).strip("[]")
