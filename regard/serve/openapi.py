"""OpenAPI: what the bodies of requests are, which are read by our own stricter hand, and what errors look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from regard.serve.schemas import (
    DetectGiven,
    ErrorTold,
    ExplainGiven,
    PartialTold,
    RichTranslateGiven,
    StreamGiven,
    TranslateGiven,
)

REFERENCE = "#/components/schemas/{model}"
VALIDATION: JsonSchemaMode = "validation"
SERIALIZATION: JsonSchemaMode = "serialization"
GIVEN: tuple[type[BaseModel], ...] = (TranslateGiven, DetectGiven, RichTranslateGiven, StreamGiven, ExplainGiven)
TOLD: tuple[type[BaseModel], ...] = (PartialTold,)
"""What is told by events alone."""
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


def events_of(events: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """The part of an operation that describes an answer of server-sent events."""
    told = {name: {"$ref": REFERENCE.format(model=model.__name__)} for name, model in events.items()}
    schema = {"type": "string", "description": "events, each with JSON of one line as its data", "x-events": told}
    return {"description": "Events as they come", "content": {"text/event-stream": {"schema": schema}}}


def describe_api(app: FastAPI) -> dict[str, Any]:
    """The description of the whole API; made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for models, mode in ((GIVEN, VALIDATION), (TOLD, SERIALIZATION)):
            _, described = models_json_schema([(model, mode) for model in models], ref_template=REFERENCE)
            schemas |= described["$defs"]
        app.openapi_schema = document
    return app.openapi_schema
