"""OpenAPI: what the bodies of requests are, which are read by our own stricter hand, and what errors look like."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from regard.serve.schemas import (
    DetectGiven,
    ErrorTold,
    ExplainGiven,
    RichTranslateGiven,
    StreamGiven,
    TranslateGiven,
)

REFERENCE = "#/components/schemas/{model}"
GIVEN: tuple[type[BaseModel], ...] = (TranslateGiven, DetectGiven, RichTranslateGiven, StreamGiven, ExplainGiven)
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorTold, "description": meaning}
    for status, meaning in {
        400: "A parameter is missing, wrong or not supported",
        403: "The API key is wrong",
        408: "The body did not arrive in time",
        413: "The body is too large",
        415: "The body is neither JSON nor a form",
        429: "Too many requests; Retry-After says when to go on",
        503: "The server is busy, and Retry-After says when to try again; or, without one, the work took too long",
    }.items()
}


def body_of(model: type[BaseModel], form: bool = False) -> dict[str, Any]:
    """The part of an operation that describes its body."""
    schema = {"schema": {"$ref": REFERENCE.format(model=model.__name__)}}
    kinds = ["application/json", "application/x-www-form-urlencoded"] if form else ["application/json"]
    return {"requestBody": {"required": True, "content": dict.fromkeys(kinds, schema)}}


def describe_api(app: FastAPI) -> dict[str, Any]:
    """The description of the whole API; made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        _, given = models_json_schema([(model, "validation") for model in GIVEN], ref_template=REFERENCE)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= given["$defs"]
        app.openapi_schema = document
    return app.openapi_schema
