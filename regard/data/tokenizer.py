"""Tokenizers: text to token ids and back, exactly; each one vocabulary, saved as one `tokenizer.json`."""

from __future__ import annotations

import json
import random
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.normalizers import Normalizer

from regard.atomic import write_file
from regard.config import TokenizerConfig
from regard.data.tokenizer_file import read_tokenizer_file
from regard.data.tokenizer_kinds import KINDS, Scheme, build, learn, normalizer
from regard.data.tokenizer_learning import Learned, surface, with_tags
from regard.data.vocabulary import (
    BYTE_TOKENS,
    FIRST_BYTE_ID,
    FIRST_LEARNED_ID,
    SPECIAL_TOKENS,
    UNK_ID,
    tag_for,
    tagged_language,
)
from regard.data.word_memory import WordMemory
from regard.errors import CorpusError, InputError, ModelFolderError
from regard.progress import task

SHARED_FILE, SOURCE_FILE, TARGET_FILE = "tokenizer.json", "tokenizer.source.json", "tokenizer.target.json"
_TEXTS_AT_A_TIME = 10_000


class Tokenizer:
    """One vocabulary. `decode(encode(text)) == normalize(text)` for every text that is valid Unicode.

    Each token stands for a string of bytes, marks for none; decoding joins these bytes.
    """

    def __init__(self, scheme: Scheme, learned: Learned, pipeline: LibraryTokenizer | None = None) -> None:
        self.scheme = scheme
        self.learned = learned
        self.pipeline = pipeline or build(scheme, learned)
        self._texts = [surface(piece, scheme.kind) for piece in learned.pieces]
        self.tags = {
            language: index for index, piece in enumerate(learned.pieces) if (language := tagged_language(piece))
        }
        for index in (*range(FIRST_LEARNED_ID), *self.tags.values()):
            self._texts[index] = ""
        self._bytes = [text.encode("utf-8") for text in self._texts]
        for byte in range(256):
            self._bytes[FIRST_BYTE_ID + byte] = bytes([byte])
        self._words = WordMemory(self._cut)

    @property
    def plain(self) -> Tokenizer:
        """The same without a tag before what it encodes."""
        return self

    @property
    def kind(self) -> str:
        return self.scheme.kind

    @property
    def vocabulary_size(self) -> int:
        return len(self.learned.pieces)

    def normalize(self, text: str) -> str:
        """The text as decoding gives it back: the same, unless lower-casing or a Unicode form was asked for."""
        return self.prepare(text)[1:]

    def prepare(self, text: str) -> str:
        """The normalized text with one space in front, which is what gets cut into tokens; nothing for no text."""
        return _prepare(self.pipeline.normalizer, text)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with no marks added. Text that spells a mark, such as `</s>`, is text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        rows: list[list[int]] = []
        for start in range(0, len(texts), _TEXTS_AT_A_TIME):
            some = texts[start : start + _TEXTS_AT_A_TIME]
            try:
                rows += self._words.encode(some)
            except (AttributeError, TypeError):  # of what is no text, or none that the library can have as UTF-8
                for text in some:
                    self.prepare(text)
                raise
        return rows

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; marks are left out, and bytes that form no character become U+FFFD."""
        ids = list(ids)
        self._check(ids)
        text = b"".join(map(self._bytes.__getitem__, ids)).decode("utf-8", errors="replace")
        return text.removeprefix(" ")

    def ends(self, ids: Iterable[int]) -> list[int]:
        """Where each token ends in the text of all, with 0 in front: the length of `decode(ids[:n])` for every n."""
        ids = list(ids)
        self._check(ids)
        decoder = getincrementaldecoder("utf-8")("replace")
        ends, length, first = [0], 0, ""
        for index in ids:
            text = decoder.decode(self._bytes[index])
            first = first or text[:1]
            length += len(text)
            begun = bool(decoder.getstate()[0])  # of a character, for which decoding by itself gives U+FFFD
            ends.append(length + begun - (first == " "))
        return ends

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each token in a printable form, for pictures: `▁the`, `ing`, `<0xE4>`, `</s>`; `▁` is a space."""
        ids = list(ids)
        self._check(ids)
        return list(map(self._printable.__getitem__, ids))

    @cached_property
    def _printable(self) -> list[str]:
        """The printable form of every token."""
        shown = [*SPECIAL_TOKENS, *BYTE_TOKENS, *map(_printable, self._texts[FIRST_LEARNED_ID:])]
        for language, index in self.tags.items():
            shown[index] = tag_for(language)
        return shown

    def words(self) -> dict[str, int]:
        """The token that a word from elsewhere means, under its printable form and, at a word's start, bare."""
        learned = [index for index in range(FIRST_LEARNED_ID, self.vocabulary_size) if self._texts[index]]
        names = dict(zip(self.pieces(learned), learned, strict=True))
        return names | {name[1:]: index for name, index in names.items() if name.startswith("▁") and len(name) > 1}

    def to_json(self) -> str:
        """The contents of `tokenizer.json`: the same for the same text and configuration."""
        return json.dumps(json.loads(self.pipeline.to_str()), ensure_ascii=False, indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, which the tokenizers library can also load by itself."""
        write_file(path, self.to_json().encode("utf-8"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; anything else is a ModelFolderError."""
        return cls(*read_tokenizer_file(path))

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, by the library."""
        rows = [encoding.ids for encoding in self.pipeline.encode_batch_fast(texts, add_special_tokens=False)]
        if self.kind == "wordpiece":
            return [self._spelled(ids, text) for ids, text in zip(rows, texts, strict=True)]
        return rows

    def _spelled(self, ids: list[int], text: str) -> list[int]:
        """Put bytes where a WordPiece model, which has no byte fallback, met a character outside its alphabet."""
        if UNK_ID not in ids:
            return ids
        prepared, position = self.prepare(text), 0
        spelled: list[int] = []
        for index in ids:
            if index == UNK_ID:
                spelled.extend(FIRST_BYTE_ID + byte for byte in prepared[position].encode("utf-8"))
                position += 1
            else:
                spelled.append(index)
                position += len(self._texts[index])
        return spelled

    def _check(self, ids: list[int]) -> None:
        if ids and not 0 <= min(ids) <= max(ids) < self.vocabulary_size:
            wrong = next(index for index in ids if not 0 <= index < self.vocabulary_size)
            raise InputError(
                f"Token id {wrong} is not in this vocabulary, whose ids are 0 to {self.vocabulary_size - 1}."
            )


class TaggedTokenizer(Tokenizer):
    """A tokenizer whose ids begin with the tag of a target language. Text that spells the tag is text."""

    def __init__(self, plain: Tokenizer, language: str) -> None:
        vars(self).update(vars(plain))
        self._plain = plain
        if language not in plain.tags:
            known = ", ".join(plain.tags) or "none"
            raise InputError(f"this vocabulary has no tag for the language {language!r}; it has: {known}")
        self._tag = plain.tags[language]

    @property
    def plain(self) -> Tokenizer:
        return self._plain

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._tag, *ids] for ids in self._plain.encode_batch(texts)]


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both languages: one and the same object when the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        return self.source.plain is self.target.plain

    def tagged(self, language: str) -> Tokenizers:
        """The same, with the tag of a target language before each source."""
        return Tokenizers(TaggedTokenizer(self.source.plain, language), self.target)

    def save(self, folder: Path) -> None:
        """Write one file if the vocabulary is shared, else one for each language."""
        files = {SHARED_FILE: self.target} if self.shared else {SOURCE_FILE: self.source, TARGET_FILE: self.target}
        for name, tokenizer in files.items():
            tokenizer.save(folder / name)
        for stale in {SHARED_FILE, SOURCE_FILE, TARGET_FILE} - set(files):
            (folder / stale).unlink(missing_ok=True)

    @staticmethod
    def exist(folder: Path) -> bool:
        """Whether a folder holds what `save` writes, all of it."""
        return (folder / SHARED_FILE).exists() or all((folder / name).exists() for name in (SOURCE_FILE, TARGET_FILE))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote into a folder."""
        from regard.data.imported_tokenizer import load_tokenizer  # which is a Tokenizer itself

        if (folder / SHARED_FILE).exists():
            shared = load_tokenizer(folder / SHARED_FILE)
            return cls(shared, shared)
        if not any((folder / name).exists() for name in (SOURCE_FILE, TARGET_FILE)):
            raise ModelFolderError(f"{folder / SHARED_FILE} does not exist; is {folder} a model folder, and complete?")
        return cls(load_tokenizer(folder / SOURCE_FILE), load_tokenizer(folder / TARGET_FILE))


def train_tokenizer(texts: Iterable[str], config: TokenizerConfig, languages: Sequence[str] = ()) -> Tokenizer:
    """Learn a vocabulary from texts, which are taken one at a time; the same texts give the same vocabulary.

    It has a tag for each of the `languages`.
    """
    scheme = Scheme(config.kind, config.lowercase, config.normalization)
    sample = _sample(texts, scheme)
    if not any(text.strip() for text in sample):
        raise CorpusError("There is no text to learn a vocabulary from: the training corpus is empty or blank.")
    size = config.vocabulary_size - len(languages)
    alphabet = _alphabet(sample, int((size - FIRST_LEARNED_ID) * KINDS[scheme.kind].alphabet_share))
    return Tokenizer(scheme, with_tags(learn(sample, alphabet, scheme, size), languages))


def _sample(texts: Iterable[str], scheme: Scheme) -> list[str]:
    """Normalized texts, all of them or an even draw of as many as the kind can take."""
    normal_form, most = normalizer(scheme), KINDS[scheme.kind].training_characters
    generator = random.Random(0)
    kept: list[tuple[float, str]] = []
    characters, share = 0, 1.0
    with task("reading text for the vocabulary") as work:
        for count, text in enumerate(texts, start=1):
            if count % 1000 == 0:
                work.advance(1000)
            draw = generator.random()
            if draw >= share:
                continue
            kept.append((draw, _prepare(normal_form, text)))
            characters += len(text)
            if characters > most and len(kept) > 1:
                share /= 2
                kept = [(draw, text) for draw, text in kept if draw < share]
                characters = sum(len(text) for _, text in kept)
    return [text for _, text in kept]


def _alphabet(sample: Sequence[str], limit: int) -> list[str]:
    """The characters that get a token of their own: the space, and the most frequent that occur more than once."""
    counts: Counter[str] = Counter()
    for text in sample:
        counts.update(text)
    # The library keeps NUL for itself.
    common = sorted((-count, character) for character, count in counts.items() if count > 1 and character not in " \0")
    return sorted({" ", *(character for _, character in common[: max(limit - 1, 0)])})


def _printable(text: str) -> str:
    shown = text.replace(" ", "▁")
    return "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in shown)


def _prepare(normal_form: Normalizer, text: str) -> str:
    try:
        return normal_form.normalize_str(text)
    except UnicodeEncodeError as error:
        raise InputError(
            f"The text is not valid Unicode: its character {error.start + 1} is half of a surrogate pair "
            f"(U+{ord(text[error.start]):04X}), which UTF-8 cannot write. Remove it, or decode the text anew."
        ) from None
