"""Texts handed to a translator: checked one by one, and cut into chunks where they come as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from regard.errors import InputError

CHUNK_LINES, CHUNK_CHARACTERS = 2000, 1_000_000
"""How much of a stream is held at once: enough for batches of like length, little enough for any machine."""


def check_texts(texts: Sequence[str], first_line: int = 1) -> None:
    """Refuse what is not a list of one-line texts, by the line's number."""
    if isinstance(texts, str):
        raise InputError('texts come as a list, even one alone: translate(["…"])')
    for number, text in enumerate(texts, start=first_line):
        if not isinstance(text, str):
            raise InputError(f"line {number} is of type {type(text).__name__}, not a text")
        if "\n" in text:
            raise InputError(f"line {number} holds a line break; give each line as a text of its own")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(f"line {number} is not valid Unicode: it holds half of a surrogate pair")


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Cut a stream into lists of lines, in order."""
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) >= CHUNK_LINES or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
