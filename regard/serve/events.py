"""Server-sent events: an answer that comes in parts, for as long as somebody listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from regard.serve.refusals import ClientLeft
from regard.serve.service import while_waited_for

Event = tuple[str, str]
"""The name of an event, and its data as JSON of one line."""


class EventStream(Response):
    """Events in the order in which they come; a client who leaves ends their source."""

    media_type = "text/event-stream"

    def __init__(self, request: Request, events: AsyncIterator[Event]) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._request, self._events = request, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Begin with the first event: where there is none, since the request is refused, that is the answer."""
        try:
            first = await while_waited_for(self._request, anext(self._events))
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            with suppress(ClientLeft):
                await while_waited_for(self._request, self._send_all(first, send))
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if (close := getattr(self._events, "aclose", None)) is not None:
                await asyncio.shield(close())

    async def _send_all(self, first: Event, send: Send) -> None:
        await _send(first, send)
        async for event in self._events:
            await _send(event, send)


async def _send(event: Event, send: Send) -> None:
    name, data = event
    body = f"event: {name}\ndata: {data}\n\n".encode()
    await send({"type": "http.response.body", "body": body, "more_body": True})
