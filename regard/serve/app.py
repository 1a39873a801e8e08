"""The application: endpoints, what stands around them, and the pool that starts and stops with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from inspect import signature
from typing import TypeGuard

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve.api import api_routes
from regard.serve.express import ExpressLane
from regard.serve.guard import Guard, refused
from regard.serve.libretranslate import libretranslate_routes
from regard.serve.pages import page_routes
from regard.serve.refusals import Refusal
from regard.serve.service import Service
from regard.web import Asset

PATHS = (
    "/", "/translate", "/detect", "/languages", "/health", "/frontend/settings", "/translate_file", "/suggest", "/spec",
    "/openapi.json", "/docs", "/docs/style.css", "/metrics", "/api/models", "/api/translate", "/api/stream",
    "/api/explain",
)  # fmt: skip
"""The paths that figures and the log call by name."""
LAST_SECONDS = 1.0
"""For what is under way when the application is told to end: the server has waited before it said so."""


@dataclass(frozen=True)
class Application:
    """All that answers requests: the ordinary way, with a guard before it, and the short one, for our own server."""

    guard: Guard
    lane: ExpressLane

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.guard(scope, receive, send)


def make_app(service: Service, assets: Mapping[str, Asset] | None = None) -> Application:
    """The application around a service, guarded; `assets` are the files of the web page."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.pool.observe(service.metrics.add_batch)
        service.metrics.watch_queue(lambda: service.pool.statistics)
        await service.pool.start()
        try:
            yield
        finally:
            await service.pool.stop(min(LAST_SECONDS, service.settings.shutdown_seconds))

    app = FastAPI(
        title="regard",
        version=version("regard"),
        description="Translation by models of your own: LibreTranslate's API, and more.",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Refusal, _refusal)
    routers = libretranslate_routes(service), api_routes(service)
    for router in routers:
        app.include_router(router)
    direct = {route.path: route.endpoint for router in routers for route in router.routes if _is_direct(route)}
    app.include_router(page_routes(app, assets or {}))
    if service.settings.metrics:

        @app.get("/metrics", include_in_schema=False)
        async def metrics() -> Response:
            content, kind = service.metrics.page()
            return Response(content, media_type=kind)

    guard = Guard(_with_head(app), service.settings, service.metrics, PATHS, direct)
    return Application(guard, ExpressLane(service, guard))


def _with_head(app: ASGIApp) -> ASGIApp:
    """The same application, where HEAD is answered as GET; the server itself leaves the body out."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await app({**scope, "method": "GET"} if is_head else scope, receive, send)

    return answer


def _is_direct(route: BaseRoute) -> TypeGuard[APIRoute]:
    """Whether all that an endpoint takes is the request itself."""
    if not isinstance(route, APIRoute) or route.methods != {"POST"}:
        return False
    return [each.annotation for each in signature(route.endpoint, eval_str=True).parameters.values()] == [Request]


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if headers.get("Allow") == "GET":
        headers["Allow"] = "GET, HEAD"
    return refused(Refusal(error.status_code, str(error.detail), headers))


async def _refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error)
