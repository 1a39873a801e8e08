"""Whole documents: taken apart into sentences, and put together again with everything between them as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from regard.text.languages import writes_spaces
from regard.text.sentences import split_long, split_sentences

_LINE_BREAK = re.compile(r"(\r\n|\n|\r)")
_MARGIN = re.compile(r"\s*(?:(?:[-*+•·>–—]|#{1,6}|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|[一二三四五六七八九十]+、)\s+)*")


class Part(Enum):
    """What a piece of a document is."""

    SENTENCE = "sentence"
    GAP = "gap"
    """White space between two sentences of a line."""
    KEPT = "kept"
    """Line breaks, indentation, marks of lists and headings, lines without a word."""


@dataclass(frozen=True)
class Piece:
    part: Part
    text: str


def take_apart(text: str, language: str, fits: Callable[[str], bool] = bool) -> list[Piece]:
    """The pieces of a document; joined, they are the document again. A sentence that does not fit comes in parts."""
    pieces: list[Piece] = []
    for line in _LINE_BREAK.split(text):
        if not any(character.isalnum() for character in line):
            pieces.append(Piece(Part.KEPT, line))
            continue
        margin = _MARGIN.match(line)
        begin = margin.end() if margin else 0
        pieces.append(Piece(Part.KEPT, line[:begin]))
        for sentence, gap in split_sentences(line[begin:], language):
            *parts, (last, _) = split_long(sentence, fits)
            for part, space in [*parts, (last, gap)]:
                pieces += [Piece(Part.SENTENCE, part), Piece(Part.GAP, space)]
        pieces[-1] = Piece(Part.KEPT, pieces[-1].text)
    return [piece for piece in pieces if piece.text or piece.part is Part.GAP]


def sentences_of(pieces: Sequence[Piece]) -> list[str]:
    """What is to be translated, in order."""
    return [piece.text for piece in pieces if piece.part is Part.SENTENCE]


def put_together(pieces: Sequence[Piece], translations: Sequence[str], source_language: str, language: str) -> str:
    """The document with translations in the places of its sentences.

    All white space stays, but where one of the two languages is written without spaces: then sentences of a line are
    parted by a space or by nothing, as the target language has it.
    """
    return "".join(replaced(pieces, translations, source_language, language))


def replaced(pieces: Sequence[Piece], translations: Sequence[str], source_language: str, language: str) -> list[str]:
    """What each piece becomes, in order."""
    source_spaces, target_spaces = writes_spaces(source_language), writes_spaces(language)
    remaining = iter(translations)
    texts = []
    for piece in pieces:
        if piece.part is Part.SENTENCE:
            texts.append(next(remaining).strip())
        elif piece.part is Part.GAP and source_spaces != target_spaces and piece.text in ("", " "):
            texts.append(" " if target_spaces else "")
        else:
            texts.append(piece.text)
    return texts
