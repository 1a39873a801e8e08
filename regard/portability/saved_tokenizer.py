"""Tokenizers as others have them: the saved file, read by the tokenizers library alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer as LibraryTokenizer

from regard.data.imported_tokenizer import is_imported, load_tokenizer
from regard.data.tokenizer import SHARED_FILE, SOURCE_FILE, Tokenizer, Tokenizers
from regard.models.folder import LoadedModel


class SavedTokenizer(Tokenizer):
    """A tokenizer of ours that cuts text as the library does by itself with the file that was saved of it."""

    def __init__(self, plain: Tokenizer, file: Path) -> None:
        vars(self).update(vars(plain))
        self._plain = plain
        self._file = LibraryTokenizer.from_file(str(file))

    @property
    def plain(self) -> Tokenizer:
        return self._plain

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._file.encode(text).ids for text in texts]


def with_saved_tokenizer(loaded: LoadedModel, folder: Path) -> LoadedModel:
    """The model with its sources cut by the file in a folder to which `Tokenizers.save` wrote."""
    ours = loaded.tokenizers
    file = folder / (SHARED_FILE if ours.shared else SOURCE_FILE)
    # What was imported stands in an envelope, which regard alone opens; the library cuts the text there, too.
    source = load_tokenizer(file) if is_imported(file) else SavedTokenizer(ours.source, file)
    return replace(loaded, tokenizers=Tokenizers(source, ours.target))


def tokenizer_notes(tokenizer: Tokenizer) -> tuple[str, ...]:
    """What a reader of a report has to know of a tokenizer of sources elsewhere."""
    if tokenizer.kind != "wordpiece":
        return ()
    return ("characters outside its alphabet become <unk> there; regard spells them in bytes",)
