"""The application: endpoints, what stands around them, and the pool that starts and stops with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from regard.serve.api import api_routes
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


def make_app(service: Service, assets: Mapping[str, Asset] | None = None) -> FastAPI:
    """The application around a service; `assets` are the files of the web page."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.pool.observe(service.metrics.add_batch)
        service.metrics.watch_queue(lambda: service.pool.statistics)
        await service.pool.start()
        try:
            yield
        finally:
            await service.pool.stop(service.settings.shutdown_seconds)

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
    app.add_middleware(Guard, settings=service.settings, metrics=service.metrics, paths=PATHS)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Refusal, _refusal)
    app.include_router(libretranslate_routes(service))
    app.include_router(api_routes(service))
    app.include_router(page_routes(app, assets or {}))
    if service.settings.metrics:

        @app.get("/metrics", include_in_schema=False)
        async def metrics() -> Response:
            content, kind = service.metrics.page()
            return Response(content, media_type=kind)

    return app


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refused(Refusal(error.status_code, str(error.detail), error.headers))


async def _refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error)
