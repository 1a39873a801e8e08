"""HTML through the pool: passages out of it, translations with their tags into it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from regard.serve.pool import Pool
from regard.serve.routing import Served
from regard.serve.sentences import Document, Wanted, all_of, cut_all, translate_pieces
from regard.serve.words import Range, links_of
from regard.text.documents import Part
from regard.text.markup import take_markup_apart
from regard.text.passages import Passage


async def translate_markup(
    pool: Pool, served: Served, texts: Sequence[str], wanted: Wanted, most_tokens: int, client: Hashable | None
) -> list[str]:
    """Texts of HTML in the other language; tags stand around the words that belong to those they stood around."""
    markings = [take_markup_apart(text) for text in texts]
    passages = [passage for marking in markings for passage in marking.passages if passage.has_words]
    # Only passages with tags inside need to know which words belong together.
    groups = {tagged: [each for each in passages if bool(each.tags) is tagged] for tagged in (False, True)}
    work = []
    for tagged, some in groups.items():
        pieces = await cut_all(pool, served, [passage.text for passage in some], most_tokens)
        asked = replace(wanted, best=1, alignment=tagged, keep_spans=True)
        work += [translate_pieces(pool, served, pieces, asked, client)] if some else []
    documents = [document for some in await all_of(work) for document in some]
    found = dict(zip(map(id, [*groups[False], *groups[True]]), documents, strict=True))

    def finish(passage: Passage) -> str:
        document = found.get(id(passage))
        return passage.html if document is None else _finished(passage, document)

    return [marking.put_together(finish) for marking in markings]


def _finished(passage: Passage, document: Document) -> str:
    """A passage with the translation of its sentences; links are counted from its beginning."""
    written = document.pieces_with()
    links: list[tuple[Range, Range]] = []
    sentences = iter(document.sentences)
    source_offset = target_offset = 0
    for piece, text in zip(document.pieces, written, strict=True):
        if piece.part is Part.SENTENCE:
            sentence = next(sentences)
            if sentence.alignments:
                links += links_of(sentence.source, text, sentence.alignments[0], source_offset, target_offset)
        source_offset += len(piece.text)
        target_offset += len(text)
    return passage.finish("".join(written), links)
