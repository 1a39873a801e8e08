"""Our own endpoints: translations with all that is known about them, as they form, and explained."""

from __future__ import annotations

from typing import TypeVar

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.serve.bodies import parse_json, read_body
from regard.serve.events import EventStream
from regard.serve.explanation_schemas import ExplanationTold
from regard.serve.languages import AUTO, language_name
from regard.serve.openapi import ERRORS, body_of, events_of
from regard.serve.refusals import Refusal
from regard.serve.rich import Asked, translate_rich, watch_rich
from regard.serve.schemas import (
    ErrorTold,
    ExplainGiven,
    LimitsTold,
    ModelsTold,
    ModelTold,
    OwnGiven,
    PartialTold,
    RichListTold,
    RichTold,
    RichTranslateGiven,
    StreamGiven,
)
from regard.serve.sentences import Wanted
from regard.serve.service import Service, answer, validated, while_waited_for
from regard.text.units import units

EVENTS: dict[str, type[BaseModel]] = {"partial": PartialTold, "done": RichTold, "error": ErrorTold}
"""What a stream tells, and the JSON of each; the last two end it."""
Body = TypeVar("Body", bound=BaseModel)


def api_routes(service: Service) -> APIRouter:
    """The endpoints under /api."""
    router = APIRouter(prefix="/api", tags=["regard"])

    @router.get("/models", response_model=ModelsTold, summary="List the models and the limits")
    async def models() -> Response:
        return answer(_models(service))

    @router.post(
        "/translate", response_model=RichTold | RichListTold, responses=ERRORS,
        openapi_extra=body_of(RichTranslateGiven), summary="Translate, with all that is known about the translations",
    )  # fmt: skip
    async def translate(request: Request) -> Response:
        given = await _given(service, request, RichTranslateGiven)
        if given.best > service.settings.alternatives + 1:
            raise Refusal.bad(f"best must be <= {service.settings.alternatives + 1}")
        if (given.text is None) == (given.texts is None):
            raise Refusal.bad("give either text or texts")
        texts = [given.text] if given.text is not None else given.texts or []
        asked = _asked(service, request, given, texts, Wanted(given.best, alignment=given.alignment))
        results = await while_waited_for(request, translate_rich(service, asked))
        return answer(results[0] if given.texts is None else RichListTold(results=results))

    @router.post(
        "/stream", responses={200: events_of(EVENTS), **ERRORS}, response_class=Response,
        openapi_extra=body_of(StreamGiven), summary="Translate, and tell the text as it forms",
    )  # fmt: skip
    async def stream(request: Request) -> Response:
        given = await _given(service, request, StreamGiven)
        return EventStream(request, watch_rich(service, _asked(service, request, given, [given.text], Wanted())))

    @router.post(
        "/explain", response_model=ExplanationTold, responses=ERRORS, openapi_extra=body_of(ExplainGiven),
        summary="Look inside: attention, candidates, beam and attribution of a sentence",
    )  # fmt: skip
    async def explain(request: Request) -> Response:
        given = await _given(service, request, ExplainGiven)
        service.admit(request.scope, given.api_key)
        limit = service.settings.explain_characters
        for text in (given.text, given.translation or ""):
            if len(text) > limit:
                raise Refusal.bad(f"request ({len(text)}) exceeds text limit ({limit})")
        source, target = (None if text is None else _one_line(text) for text in (given.text, given.translation))
        if not source or target == "":
            raise Refusal.bad("there is no word in the text")
        served = service.model_for(_language(service, given.source, [source]), given.target)
        if served is None:
            raise Refusal.bad("source and target are the same language, so there is nothing to explain")
        service.note_texts(str(served.languages), [source])
        work = service.pool.explain(served.languages, source, target, given.beam)
        told = await while_waited_for(request, work)
        return JSONResponse({**told, "model": {**told["model"], "name": served.name}})

    return router


async def _given(service: Service, request: Request, model: type[Body]) -> Body:
    """The body of a request, which has to be JSON: a form on another site cannot send that."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "Invalid request: send application/json")
    return validated(model, parse_json(await read_body(request, service.settings)))


def _asked(service: Service, request: Request, given: OwnGiven, texts: list[str], wanted: Wanted) -> Asked:
    """What is asked for, and by whom, after all that can be refused has been."""
    client = service.admit(request.scope, given.api_key, max(1, len(texts)))
    service.check_lengths(texts)
    if len(given.glossary) > service.settings.glossary_terms:
        raise Refusal.bad(f"a glossary has at most {service.settings.glossary_terms} terms")
    terms = tuple((_one_line(term.source), _one_line(term.target)) for term in given.glossary)
    if any(not units(source) or not units(target) for source, target in terms):
        raise Refusal.bad("a term of the glossary has no word")
    if len({source for source, _ in terms}) < len(terms):
        raise Refusal.bad("a term of the glossary comes twice")
    source = _language(service, given.source, texts)
    served = service.model_for(source, given.target)
    service.note_texts(f"{source}-{given.target}", texts)
    wanted = Wanted(wanted.best, terms, given.keep_spans, wanted.alignment)
    return Asked(served, given.target, texts, wanted, client)


def _language(service: Service, code: str, texts: list[str]) -> str:
    return service.languages.detector.detect_together(texts)[0].language if code == AUTO else code


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _models(service: Service) -> ModelsTold:
    settings = service.settings
    return ModelsTold(
        models=[
            ModelTold(
                name=served.name,
                source=pair.source,
                target=pair.target,
                source_name=language_name(pair.source),
                target_name=language_name(pair.target),
                calibrated=served.calibrated,
                parameters=served.parameters,
            )
            for pair, served in service.pool.served.items()
        ],
        limits=LimitsTold(
            body_bytes=settings.body_bytes,
            characters=settings.characters,
            items=settings.items,
            total_characters=settings.total_characters,
            alternatives=settings.alternatives,
            explain_characters=settings.explain_characters,
            glossary_terms=settings.glossary_terms,
        ),
        api_key_required=service.keys is not None,
    )
