"""The work behind our own endpoints: whole answers, and answers that are told as they form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import dataclass

from regard.serve.answers import copied_answer, rich_answer
from regard.serve.faults import log_fault
from regard.serve.refusals import Refusal, refusal_of
from regard.serve.routing import Served
from regard.serve.schemas import ErrorTold, PartialTold, RichTold
from regard.serve.sentences import Document, Wanted, cut_all, found_sentences, in_order, portions_of, translate_pieces
from regard.serve.service import Service
from regard.text.documents import Part, Piece, replaced
from regard.text.glossary import Glossary


@dataclass(frozen=True)
class Asked:
    """A request that may be done."""

    served: Served | None
    """None: the texts are in the target language already."""
    target: str
    texts: list[str]
    wanted: Wanted
    client: Hashable | None


async def translate_rich(service: Service, asked: Asked) -> list[RichTold]:
    """The answer for each text."""
    if asked.served is None:
        return [copied_answer(asked.target, text) for text in asked.texts]
    translator = asked.served.translator
    pieces = await _cut(service, asked.served, asked)
    _check_terms(service, asked, [piece.text for own in pieces for piece in own if piece.part is Part.SENTENCE])
    documents = await translate_pieces(service.pool, asked.served, pieces, asked.wanted, asked.client)
    return await asyncio.to_thread(lambda: [rich_answer(translator, document) for document in documents])


async def watch_rich(service: Service, asked: Asked) -> AsyncIterator[tuple[str, str]]:
    """`partial` with the text so far, whenever it grows; at the end `done` with the answer, or `error`.

    What is refused before anything was told is raised: the answer can still have a status of its own.
    """
    told_something = False
    try:
        if asked.served is None:
            yield "done", copied_answer(asked.target, asked.texts[0]).model_dump_json()
            return
        translator, languages = asked.served.translator, asked.served.languages
        [pieces] = await _cut(service, asked.served, asked)
        sentences = [piece.text for piece in pieces if piece.part is Part.SENTENCE]
        _check_terms(service, asked, sentences)
        portions = portions_of(sentences, asked.wanted)
        jobs = [portion.job for portion in portions]
        async for progress in service.pool.watch(languages, jobs, client=asked.client):
            answers = [each.answer for each in progress if each.answer is not None]
            if len(answers) < len(portions):
                texts = in_order(portions, [each.texts for each in progress])
                text = _text_so_far(pieces, texts, translator.languages)
                told_something = True
                yield "partial", PartialTold(text=text).model_dump_json()
            else:
                document = Document(pieces, found_sentences(portions, answers), translator.languages)
                told = await asyncio.to_thread(rich_answer, translator, document)
                yield "done", told.model_dump_json()
    except Exception as error:
        if not told_something:
            raise
        refusal = refusal_of(error)
        if refusal is None:
            log_fault(error)
        sentence = refusal.sentence if refusal else "Internal error; the server's log says more"
        yield "error", ErrorTold(error=sentence).model_dump_json()


async def _cut(service: Service, served: Served, asked: Asked) -> list[list[Piece]]:
    return await cut_all(service.pool, served, asked.texts, service.settings.sentence_tokens, asked.wanted.keep_spans)


def _check_terms(service: Service, asked: Asked, sentences: Sequence[str]) -> None:
    """Refuse sentences that would have to use more of a glossary than can be searched for in a reasonable time."""
    if not asked.wanted.glossary:
        return
    glossary, most = Glossary.of(asked.wanted.glossary), service.settings.glossary_characters
    for sentence in sentences:
        wanted = sum(len(match.term.target) for match in glossary.find(sentence))
        if wanted > most:
            raise Refusal.bad(f"a sentence has to use terms of {wanted} characters together, more than {most}")


def _text_so_far(pieces: Sequence[Piece], texts: Sequence[str], languages: tuple[str, str]) -> str:
    """The document up to the last sentence that has begun; those before it that have not are left out."""
    written = replaced(pieces, texts, *languages)
    begun = [index for index, piece in enumerate(pieces) if piece.part is Part.SENTENCE and written[index]]
    return "".join(written[: begun[-1] + 1]) if begun else ""
