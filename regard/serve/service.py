"""What every endpoint needs: who may ask, what can be translated, and somebody who still waits for the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from regard.serve.bodies import Fields
from regard.serve.departure import told_of_departure
from regard.serve.jobs import Pair
from regard.serve.keys import KeyRing
from regard.serve.languages import CODE, Languages, language_name
from regard.serve.metrics import Metrics
from regard.serve.pool import Pool
from regard.serve.rates import Rates, client_of
from regard.serve.refusals import ClientLeft, Refusal
from regard.serve.routing import Served
from regard.serve.settings import ServeSettings

log = logging.getLogger("regard.serve")
Body = TypeVar("Body", bound=BaseModel)
Result = TypeVar("Result")
ADMITTED = "regard.admitted"
"""Where the scope of a request that was let in has the name of its key."""


@dataclass
class Service:
    """The parts of a running service."""

    pool: Pool
    languages: Languages
    settings: ServeSettings
    keys: KeyRing | None = None
    metrics: Metrics = field(default_factory=Metrics)
    rates: Rates = field(default_factory=Rates)

    def admit(self, scope: Scope, key: object, cost: int = 1) -> str | None:
        """Let a request in, once, of somebody who has the right key and is not too fast; the key's name, if any."""
        if ADMITTED not in scope:
            scope[ADMITTED] = self._admitted(scope.get("client"), key, cost)
        name: str | None = scope[ADMITTED]
        return name

    def _admitted(self, address: tuple[str, int] | None, key: object, cost: int) -> str | None:
        name, client, rate = None, None, self.settings.address_rate
        if self.keys is not None:
            if not key:
                raise Refusal(400, "Please contact the server operator to get an API key")
            entry = self.keys.find(key) if isinstance(key, str) else None
            if entry is None:
                raise Refusal(403, "Invalid API key")
            name, client = entry.name, f"key {entry.name}"
            rate = self.settings.key_rate if entry.rate is None else entry.rate
        if rate:
            client = client or client_of(address[0] if address else "")
            wait = self.rates.take(client, rate, cost)
            if wait:
                raise Refusal.later(f"Slowdown: {rate:,} requests a minute are allowed", wait, status=429)
        return name

    def check_lengths(self, texts: Sequence[str]) -> None:
        """Refuse too many texts, or too long ones."""
        settings = self.settings
        if len(texts) > settings.items:
            raise Refusal.bad(f"request ({len(texts)}) exceeds text limit ({settings.items})")
        for text in texts:
            if len(text) > settings.characters:
                raise Refusal.bad(f"request ({len(text)}) exceeds text limit ({settings.characters})")
        total = sum(map(len, texts))
        if total > settings.total_characters:
            raise Refusal.bad(f"request ({total}) exceeds text limit ({settings.total_characters})")

    def check_code(self, code: str) -> None:
        """Refuse a language that nobody here knows."""
        if code not in self.languages.codes:
            # A code says nothing of anybody; anything else is not repeated.
            shown = code if CODE.fullmatch(code) else "that language"
            raise Refusal(400, f"{shown} is not supported")

    def model_for(self, source: str, target: str) -> Served | None:
        """The model of a pair; None where the two are the same, and nothing is to be done."""
        self.check_code(source)
        self.check_code(target)
        if source == target:
            return None
        served = self.pool.served.get(Pair(source, target))
        if served is None:
            raise Refusal(
                400,
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})",
            )
        return served

    def note_texts(self, pair: str, texts: Sequence[str]) -> None:
        """Count what was taken on, and log it if the settings ask for that."""
        self.metrics.add_characters(pair, sum(map(len, texts)))
        if self.settings.log_text:
            for text in texts:
                log.info("%s %r", pair, text)


def validated(model: type[Body], fields: Fields) -> Body:
    """The fields as a body; the refusal names the field, and repeats nothing of its value."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        detail = error.errors(include_input=False, include_context=False, include_url=False)[0]
    name = str(detail["loc"][0]) if detail["loc"] else ""
    if detail["type"] == "extra_forbidden" or name not in model.model_fields:
        raise Refusal.bad(f"there is an unknown field; known are {', '.join(model.model_fields)}")
    if detail["type"] == "missing" and len(detail["loc"]) == 1:
        raise Refusal.bad(f"missing {name} parameter")
    raise Refusal.bad(f"{name}: {detail['msg'][0].lower()}{detail['msg'][1:]}")


async def while_waited_for(request: Request, work: Awaitable[Result]) -> Result:
    """Do work as long as the client is there; one who leaves frees the place. The body must have been read."""
    own = asyncio.current_task()
    assert own is not None
    left = False

    def leave() -> None:
        nonlocal left
        left = True
        own.cancel()

    with told_of_departure(request.scope, request.receive, leave):
        try:
            return await work
        except asyncio.CancelledError:
            if not left:
                raise
            own.uncancel()
            raise ClientLeft from None


def answer(told: BaseModel, exclude_none: bool = False) -> Response:
    """An answer as JSON."""
    return Response(told.model_dump_json(exclude_none=exclude_none), media_type="application/json")
