"""A document through a translator: sentences out of it, translations into their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import InputError
from regard.text.documents import put_together, sentences_of, take_apart

if TYPE_CHECKING:
    from regard.search.translator import Translator


def translate_document(translator: Translator, text: str, translate: Callable[[list[str]], list[str]]) -> str:
    """The document in the other language; `translate` takes its sentences and gives as many.

    A sentence with more tokens than the model was trained on is cut at clause marks, and its parts are translated.
    """
    if not isinstance(text, str):
        raise InputError(f"a document is one text, not {type(text).__name__}")
    source, target = translator.languages
    longest = min(translator.longest_source - 1, translator.config.data.max_tokens)
    encode = translator.tokenizers.source.encode
    pieces = take_apart(text, source, lambda sentence: len(encode(sentence)) <= longest)
    return put_together(pieces, translate(sentences_of(pieces)), source, target)
