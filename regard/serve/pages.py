"""Pages for people: the web page with its parts, and the API described in plain HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from regard.serve.guard import STATIC
from regard.serve.openapi import ERRORS, describe_api
from regard.serve.refusals import Refusal
from regard.web import Asset

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code,pre{font:0.9em ui-monospace,monospace}table{border-collapse:collapse;margin:.5rem 0 1.5rem}"
    "th,td{border:1px solid #8886;padding:.25rem .6rem;text-align:left;vertical-align:top}"
    "h2{margin-top:2.5rem}h3{margin-bottom:.2rem}.method{color:#0a7d4b}"
    "@media(prefers-color-scheme:dark){.method{color:#5fd39c}}"
)


def page_routes(app: FastAPI, assets: Mapping[str, Asset]) -> APIRouter:
    """The index and its parts, and the description of the API."""
    router = APIRouter(include_in_schema=False)

    def file(name: str, request: Request) -> Response:
        if name not in assets:
            raise Refusal(404, "Not Found")
        asset = assets[name]
        headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.content_type, headers=headers)

    if "index.html" in assets:

        @router.get("/")
        async def index(request: Request) -> Response:
            return file("index.html", request)

        @router.get(STATIC + "{name:path}")
        async def static(name: str, request: Request) -> Response:
            return file(name, request)

    @router.get("/spec")
    @router.get("/openapi.json")
    async def spec() -> Response:
        return JSONResponse(describe_api(app))

    @router.get("/docs")
    async def docs() -> Response:
        return HTMLResponse(api_page(describe_api(app)))

    @router.get("/docs/style.css")
    async def style() -> Response:
        return Response(STYLE, media_type="text/css; charset=utf-8", headers={"Cache-Control": "max-age=3600"})

    return router


def api_page(api: Mapping[str, Any]) -> str:
    """The API as a page without a script: its operations, their bodies and answers, and the types of both."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(api['info']['title'])}: API</title>",
        '<link rel="stylesheet" href="/docs/style.css"></head><body>',
        f"<h1>{escape(api['info']['title'])}</h1><p>{escape(api['info'].get('description', ''))}</p>",
        '<p>For programs: <a href="/spec">OpenAPI</a>. Errors are always <code>{"error": "..."}</code>:</p>',
        _table([(str(status), escape(each["description"])) for status, each in ERRORS.items()]),
    ]
    operations = [
        (path, method, operation) for path, methods in api["paths"].items() for method, operation in methods.items()
    ]
    for tag in dict.fromkeys(operation.get("tags", ["other"])[0] for _, _, operation in operations):
        parts.append(f"<h2>{escape(tag)}</h2>")
        parts += [_operation(*each) for each in operations if each[2].get("tags", ["other"])[0] == tag]
    parts.append("<h2>Types</h2>")
    parts += [_type(name, schema) for name, schema in sorted(api["components"]["schemas"].items())]
    return "\n".join([*parts, "</body></html>"])


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = []
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        [name] = {_name(content["schema"]) for content in body.values()}
        rows.append(("body", f"{name} as {escape(' or '.join(body))}"))
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            kinds = [f"{_name(content['schema'])} as {escape(kind)}" for kind, content in response["content"].items()]
            rows.append(("answer", " or ".join(kinds)))
    return (
        f'<h3><span class="method">{escape(method.upper())}</span> <code>{escape(path)}</code></h3>'
        f"<p>{escape(operation.get('summary', ''))}</p>{_table(rows)}"
    )


def _type(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"<code>{escape(field)}</code>",
            f"{_name(inner)}{'' if field in required else ', optional'}<br>{escape(inner.get('description', ''))}",
        )
        for field, inner in schema.get("properties", {}).items()
    ]
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p>{_table(rows)}'


def _name(schema: Mapping[str, Any]) -> str:
    """A type in words, with links to those that have a table."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    for several in ("anyOf", "oneOf", "prefixItems"):
        if several in schema:
            return (", " if several == "prefixItems" else " or ").join(_name(inner) for inner in schema[several])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    if schema.get("type") == "array":
        return f"list of {_name(schema.get('items', schema if 'prefixItems' in schema else {}))}"
    return escape(str(schema.get("type", "any")))


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{head}</th><td>{text}</td></tr>" for head, text in rows)
    return f"<table>{cells}</table>" if rows else ""
