"""LibreTranslate's API: its clients work unchanged."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from regard.serve.bodies import Fields, read_fields
from regard.serve.languages import AUTO, language_name
from regard.serve.marked import translate_markup
from regard.serve.openapi import ERRORS, body_of
from regard.serve.refusals import Refusal
from regard.serve.routing import Served
from regard.serve.schemas import (
    DefaultLanguages,
    Detected,
    DetectGiven,
    FrontendTold,
    HealthTold,
    LanguageTold,
    LibreGiven,
    NamedLanguage,
    TranslateGiven,
    TranslateTold,
)
from regard.serve.sentences import Wanted, cut_all, translate_pieces
from regard.serve.service import Service, answer, while_waited_for

TRANSLATE = "/translate"
_NUMBER = re.compile(r"[+-]?\d{1,9}")


@dataclass(frozen=True)
class Asked:
    """A request to translate, checked."""

    texts: list[str]
    is_list: bool
    source: str
    target: str
    html: bool
    alternatives: int


def libretranslate_routes(service: Service) -> APIRouter:
    """The endpoints under LibreTranslate's names."""
    router = APIRouter(tags=["LibreTranslate"])

    @router.post(
        TRANSLATE, response_model=TranslateTold, responses=ERRORS, openapi_extra=body_of(TranslateGiven, form=True),
        summary="Translate text from one language to another",
    )  # fmt: skip
    async def translate(request: Request) -> Response:
        fields, is_json = await read_fields(request, service.settings)
        client = admit_translation(service, request.scope, fields)
        asked = asked_of(service, fields, is_json)
        return await while_waited_for(request, _translate(service, asked, client))

    @router.post(
        "/detect", response_model=list[Detected], responses=ERRORS, openapi_extra=body_of(DetectGiven, form=True),
        summary="Tell the language of a text",
    )  # fmt: skip
    async def detect(request: Request) -> Response:
        fields, _ = await read_fields(request, service.settings)
        service.admit(request.scope, fields.get("api_key"))
        _check_kinds(fields, DetectGiven)
        text = _text(fields, "q")
        service.check_lengths([text])
        service.note_texts(AUTO, [text])
        found = service.languages.detector.detect(text)
        return JSONResponse([_detected(each.language, each.confidence).model_dump() for each in found])

    @router.post("/languages", include_in_schema=False)
    @router.get("/languages", response_model=list[LanguageTold], summary="List the languages")
    async def languages() -> Response:
        told = [
            LanguageTold(code=code, name=language_name(code), targets=service.languages.targets(code)).model_dump()
            for code in service.languages.codes
        ]
        return JSONResponse(told)

    @router.get("/health", response_model=HealthTold, summary="Tell whether the server is up")
    async def health() -> Response:
        return answer(HealthTold(status="ok"))

    @router.get("/frontend/settings", response_model=FrontendTold, summary="What a page in front of this needs to know")
    async def frontend_settings() -> Response:
        return answer(_frontend(service))

    @router.post("/translate_file", include_in_schema=False)
    async def translate_file() -> Response:
        raise Refusal(403, "Files translation are disabled on this server.")

    @router.post("/suggest", include_in_schema=False)
    async def suggest() -> Response:
        raise Refusal(403, "Suggestions are disabled on this server.")

    return router


def admit_translation(service: Service, scope: Scope, fields: Fields) -> str | None:
    """Let somebody in who wants texts translated; each counts."""
    given = fields.get("q")
    return service.admit(scope, fields.get("api_key"), max(1, len(given)) if isinstance(given, list) else 1)


async def _translate(service: Service, asked: Asked, client: Hashable | None) -> Response:
    source, detected = asked.source, None
    if source == AUTO:
        best = service.languages.detector.detect_together(asked.texts)[0]
        source, detected = best.language, _detected(best.language, best.confidence)
    served = service.model_for(source, asked.target)
    service.note_texts(f"{source}-{asked.target}", asked.texts)
    texts, alternatives = await _translated(service, served, asked, client)
    told = TranslateTold(
        translatedText=texts if asked.is_list else texts[0],
        alternatives=(alternatives if asked.is_list else alternatives[0]) if asked.alternatives else None,
        detectedLanguage=None if detected is None else [detected] * len(texts) if asked.is_list else detected,
    )
    return answer(told, exclude_none=True)


async def _translated(
    service: Service, served: Served | None, asked: Asked, client: Hashable | None
) -> tuple[list[str], list[list[str]]]:
    """The translation of each text, and its alternatives."""
    if served is None:
        return asked.texts, [[] for _ in asked.texts]
    most_tokens = service.settings.sentence_tokens
    if asked.html:
        texts = await translate_markup(service.pool, served, asked.texts, Wanted(), most_tokens, client)
        return texts, [[] for _ in texts]
    pieces = await cut_all(service.pool, served, asked.texts, most_tokens)
    wanted = Wanted(best=asked.alternatives + 1)
    documents = await translate_pieces(service.pool, served, pieces, wanted, client)
    return (
        [document.text() for document in documents],
        [document.alternatives(asked.alternatives) if asked.alternatives else [] for document in documents],
    )


def asked_of(service: Service, fields: Fields, is_json: bool) -> Asked:
    """The fields of a request, checked in LibreTranslate's order and refused in its words."""
    _check_kinds(fields, TranslateGiven)
    given = fields.get("q")
    if not given:
        raise Refusal.bad("missing q parameter")
    if isinstance(given, list):
        if not all(isinstance(text, str) for text in given):
            raise Refusal.bad("q parameter is not a list of texts")
        texts = given
    else:
        texts = [_text(fields, "q")]
    source, target = _text(fields, "source"), _text(fields, "target")
    alternatives = _number(fields.get("alternatives"))
    if alternatives > service.settings.alternatives:
        raise Refusal.bad(f"alternatives parameter must be <= {service.settings.alternatives}")
    if not is_json:
        texts = ["\n".join(text.splitlines()) for text in texts]
    service.check_lengths(texts)
    if source != AUTO:
        service.check_code(source)
    service.check_code(target)
    kind = fields.get("format") or "text"
    if kind not in ("text", "html"):
        shown = kind if isinstance(kind, str) and re.fullmatch(r"[a-z]{1,12}", kind) else "that"
        raise Refusal(400, f"{shown} format is not supported")
    return Asked(texts, isinstance(given, list), source, target, kind == "html", alternatives)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not value:
        raise Refusal.bad(f"missing {name} parameter")
    if not isinstance(value, str):
        raise Refusal.bad(f"{name} parameter is not a text")
    return value


def _number(value: Any) -> int:
    """A count, as LibreTranslate takes it: also as text; less than nothing is nothing."""
    if value is None or value == "":
        return 0
    if type(value) is int:
        return max(0, value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return max(0, int(value))
    raise Refusal.bad("alternatives parameter is not a number")


def _check_kinds(fields: Fields, model: type[LibreGiven]) -> None:
    """Refuse lists and objects where one value is meant; what is no field of LibreTranslate's is not looked at."""
    for name, value in fields.items():
        if name != "q" and name in model.model_fields and isinstance(value, list | dict):
            raise Refusal.bad(f"{name} parameter is not a text")


def _detected(language: str, confidence: float) -> Detected:
    return Detected(confidence=round(100 * confidence, 1), language=language)


def _frontend(service: Service) -> FrontendTold:
    first = service.languages.pairs[0]
    with_keys = service.keys is not None
    return FrontendTold(
        charLimit=service.settings.characters,
        frontendTimeout=500,
        apiKeys=with_keys,
        keyRequired=with_keys,
        suggestions=False,
        filesTranslation=False,
        supportedFilesFormat=[],
        language=DefaultLanguages(
            source=NamedLanguage(code=first.source, name=language_name(first.source)),
            target=NamedLanguage(code=first.target, name=language_name(first.target)),
        ),
    )
