"""From texts to jobs and back: documents are cut into sentences, and those with something to keep go a way apart."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from regard.search.alignment import Alignment
from regard.search.control_report import TermUse
from regard.search.translator import Translation, Translator
from regard.serve.jobs import Answer, Job
from regard.serve.pool import Pool
from regard.serve.routing import Served
from regard.text.documents import Part, Piece, replaced, take_apart
from regard.text.glossary import Glossary
from regard.text.masking import group_spans
from regard.text.spans import KINDS, SpanFinder

TELLING = tuple(kind for kind in KINDS if kind not in ("numbers", "entities"))
"""Kinds of spans for which a sentence goes through the slower search that keeps them, and its numbers with them.

Entities are text in a text, and are read as such in HTML.
"""
Found = TypeVar("Found")
_FINDER, _EVERY = SpanFinder(TELLING), SpanFinder()
MOST_SPANS = 7
"""Of one sentence: for more, the search that keeps them needs a wider beam, and soon many times as long."""

QUICKLY_CUT = 1000
"""Characters of a request that are cut at once; with more, others would have to wait."""
A_GLANCE = 200
"""Characters that tell of most sentences with too many spans that they have."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of every sentence of a request."""

    best: int = 1
    glossary: tuple[tuple[str, str], ...] = ()
    keep_spans: bool = True
    alignment: bool = False


@dataclass(frozen=True)
class Portion:
    """Those sentences of a request that go one way, and where they stand among all of them."""

    places: list[int]
    job: Job


@dataclass(frozen=True)
class Sentence:
    """A sentence and what was found for it, best first."""

    source: str
    translations: list[Translation]
    alignments: list[Alignment] | None = None
    terms: tuple[TermUse, ...] = ()


@dataclass(frozen=True)
class Document:
    """A text in its pieces, and its sentences translated."""

    pieces: list[Piece]
    sentences: list[Sentence]
    languages: tuple[str, str]

    def pieces_with(self, choice: int = 0) -> list[str]:
        """What each piece becomes if each sentence is the `choice`-th best there is of it."""
        texts = [each.translations[min(choice, len(each.translations) - 1)].text for each in self.sentences]
        return replaced(self.pieces, texts, *self.languages)

    def text(self, choice: int = 0) -> str:
        """The whole translation."""
        return "".join(self.pieces_with(choice))

    def alternatives(self, count: int) -> list[str]:
        """Other translations of the whole, likeliest first, no two the same."""
        most = max((len(each.translations) for each in self.sentences), default=0)
        texts = dict.fromkeys(self.text(choice) for choice in range(most))
        return [text for text in texts if text != self.text()][:count]


async def cut_all(
    pool: Pool, served: Served, texts: Sequence[str], most_tokens: int, keep_spans: bool = True
) -> list[list[Piece]]:
    """The pieces of each text; what the pool has no room for is refused before."""
    characters = sum(map(len, texts))
    pool.check_room(len(texts), characters)

    def cut_each() -> list[list[Piece]]:
        return [cut(served.translator, text, most_tokens, keep_spans) for text in texts]

    return cut_each() if characters <= QUICKLY_CUT else await asyncio.to_thread(cut_each)


def cut(translator: Translator, text: str, most_tokens: int, keep_spans: bool = True) -> list[Piece]:
    """The pieces of a text; a sentence with more tokens than fit, or with more spans to keep, comes in parts."""
    longest = min(translator.longest_source - 1, translator.config.data.max_tokens, most_tokens)
    encode = translator.tokenizers.source.encode

    def fits(sentence: str) -> bool:
        # No token is shorter than a byte.
        short = len(sentence.encode()) <= longest or len(encode(sentence)) <= longest
        return short and (not keep_spans or _spans_fit(sentence))

    return take_apart(text, translator.languages[0], fits)


def _spans_fit(sentence: str) -> bool:
    """Whether a sentence has so few spans to keep that they can be searched for in a reasonable time."""
    if not has_spans(sentence):
        return True
    # Where the beginning has too many already, the rest is not looked at; one span may have been cut in two there.
    if len(sentence) > 2 * A_GLANCE and _span_count(sentence[:A_GLANCE]) > MOST_SPANS + 1:
        return False
    return _span_count(sentence) <= MOST_SPANS


def _span_count(text: str) -> int:
    return sum(not group.is_tag for group in group_spans(text, _EVERY.find(text)))


async def translate_pieces(
    pool: Pool, served: Served, documents: Sequence[list[Piece]], wanted: Wanted, client: Hashable | None
) -> list[Document]:
    """Translate all sentences of some documents."""
    texts = [piece.text for pieces in documents for piece in pieces if piece.part is Part.SENTENCE]
    found = iter(await translate_sentences(pool, served, texts, wanted, client))
    return [
        Document(pieces, [next(found) for piece in pieces if piece.part is Part.SENTENCE], served.translator.languages)
        for pieces in documents
    ]


async def translate_sentences(
    pool: Pool, served: Served, texts: Sequence[str], wanted: Wanted, client: Hashable | None
) -> list[Sentence]:
    """Translate sentences, all begun together."""
    portions = portions_of(texts, wanted)
    answers = await all_of([pool.translate(served.languages, each.job, client=client) for each in portions])
    return found_sentences(portions, answers)


def portions_of(texts: Sequence[str], wanted: Wanted) -> list[Portion]:
    """Sentences with terms or spans are one job, the others, which can have n best, another."""
    glossary = Glossary.of(wanted.glossary) if wanted.glossary else None
    places: dict[bool, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(_is_controlled(text, wanted, glossary), []).append(place)
    return [
        Portion(own, _job_of([texts[place] for place in own], wanted, controlled)) for controlled, own in places.items()
    ]


def in_order(portions: Sequence[Portion], found: Sequence[Sequence[Found]]) -> list[Found]:
    """What was found for the sentences of each portion, in the order of all of them."""
    pairs = [pair for own, each in zip(portions, found, strict=True) for pair in zip(own.places, each, strict=True)]
    return [each for _, each in sorted(pairs, key=lambda pair: pair[0])]


def found_sentences(portions: Sequence[Portion], answers: Sequence[Answer]) -> list[Sentence]:
    """All sentences, with the answers of the pool."""
    return in_order(portions, [_sentences_of(own.job, answer) for own, answer in zip(portions, answers, strict=True)])


async def all_of(work: Sequence[Coroutine[Any, Any, Found]]) -> list[Found]:
    """What all find, begun together; where one fails, the others are given up."""
    if len(work) == 1:  # as nearly always: a task of its own would cost more than all else here
        return [await work[0]]
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def has_spans(text: str) -> bool:
    """Whether a sentence has something that is to be kept."""
    return bool(_FINDER.find(text))


def _is_controlled(text: str, wanted: Wanted, glossary: Glossary | None) -> bool:
    """Whether a sentence has terms or spans that must come through."""
    return bool((wanted.keep_spans and has_spans(text)) or (glossary and glossary.find(text)))


def _job_of(texts: Sequence[str], wanted: Wanted, controlled: bool) -> Job:
    """What is asked of the pool."""
    return Job(
        texts=tuple(texts),
        best=wanted.best,
        glossary=wanted.glossary if controlled else (),
        keep_spans=wanted.keep_spans and controlled,
        alignment=wanted.alignment,
    )


def _sentences_of(job: Job, answer: Answer) -> list[Sentence]:
    """The answer of the pool, sentence by sentence."""
    return [
        Sentence(
            text,
            answer.translations[index],
            answer.alignments[index] if answer.alignments is not None else None,
            answer.constraints[index].terms if answer.constraints is not None else (),
        )
        for index, text in enumerate(job.texts)
    ]
