"""A tokenizer that was made elsewhere: a `tokenizer.json` of the tokenizers library with tokens numbered our way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer as LibraryTokenizer

from regard.data.tokenizer import Tokenizer
from regard.data.tokenizer_file import LARGEST_FILE
from regard.data.tokenizer_kinds import Scheme
from regard.data.tokenizer_learning import Learned
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID
from regard.errors import InputError, ModelFolderError

_FIRST_KEY = "imported_tokenizer"
_OPENING = f'{{\n "{_FIRST_KEY}": 1'
MOST_TOKENS = 2_000_000


class ImportedTokenizer(Tokenizer):
    """Cuts text as it did where it comes from; `order` gives, for each of our token ids, its own (-1: it has none).

    Our first four ids are the marks of padding, beginning, end and unknown. Where one of its tokens plays two of these
    parts, as Marian's padding, which begins every output, the second is a copy that no output holds.
    """

    def __init__(self, document: str, order: Sequence[int]) -> None:
        self.order = tuple(order)
        self._document = document
        self._library = read_library_tokenizer(document)
        self._library.encode_special_tokens = True  # text that spells a mark is text
        self._library.no_padding()
        self._library.no_truncation()
        self._ours = self.owners(self.order)
        highest = max(self._library.get_vocab(with_added_tokens=True).values(), default=0)
        if highest >= len(self._ours):
            raise ValueError(f"it has token {highest}, and its model only {len(self._ours)} tokens")
        self.scheme = Scheme("imported")
        self.learned = Learned(self._names(), [], [])
        self.pipeline = self._library
        self.tags = {}

    @staticmethod
    def owners(order: Sequence[int]) -> dict[int, int]:
        """Our id for each of theirs; a mark that only copies another's token is not it."""
        preference = [*range(len(SPECIAL_TOKENS), len(order)), EOS_ID, PAD_ID, UNK_ID, BOS_ID]
        ours: dict[int, int] = {}
        for number in preference:
            if number < len(order) and order[number] >= 0:
                ours.setdefault(order[number], number)
        return ours

    @property
    def copies(self) -> list[int]:
        """Our marks that stand for no token of their own."""
        return [number for number, theirs in enumerate(self.order) if theirs < 0 or self._ours[theirs] != number]

    def library_json(self) -> str:
        """The `tokenizer.json` that it was made from."""
        return self._document

    def mark_names(self) -> dict[str, str]:
        """The names of the marks in its own vocabulary."""
        names = {
            mark: self._library.id_to_token(self.order[number])
            for mark, number in (("pad", PAD_ID), ("bos", BOS_ID), ("eos", EOS_ID), ("unk", UNK_ID))
            if self.order[number] >= 0
        }
        return {mark: name for mark, name in names.items() if name is not None}

    def normalize(self, text: str) -> str:
        return self.decode(self.encode(text))

    def prepare(self, text: str) -> str:
        normal_form = self._library.normalizer
        return text if normal_form is None else str(normal_form.normalize_str(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._library.encode_batch(list(texts), add_special_tokens=False)
        # A vocabulary may hold its marks as pieces, and find them in text that spells them.
        return [[max(self._ours[token], UNK_ID) for token in encoding.ids] for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        ids = list(ids)
        self._check(ids)
        theirs = [self.order[token] for token in ids if token >= len(SPECIAL_TOKENS)]
        return str(self._library.decode(theirs, skip_special_tokens=True))

    def ends(self, ids: Iterable[int]) -> list[int]:
        ids = list(ids)
        return [len(self.decode(ids[:count])) for count in range(len(ids) + 1)]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        ids = list(ids)
        self._check(ids)
        return [self.learned.pieces[token] for token in ids]

    def words(self) -> dict[str, int]:
        raise InputError("an imported vocabulary cannot take word vectors: train a tokenizer of regard's own")

    def to_json(self) -> str:
        envelope = {_FIRST_KEY: 1, "order": self.order, "tokenizer": json.loads(self._document)}
        return json.dumps(envelope, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; anything else is a ModelFolderError."""
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise ValueError(f"it is larger than {LARGEST_FILE // 1024**2} MiB")
            envelope = json.loads(path.read_bytes().decode("utf-8"))
            if set(envelope) != {_FIRST_KEY, "order", "tokenizer"}:
                raise ValueError("it has other parts than an imported tokenizer")
            return cls(json.dumps(envelope["tokenizer"], ensure_ascii=False), _checked_order(envelope["order"]))
        except OSError as error:
            raise ModelFolderError(f"{path} cannot be read: {error.strerror or error}.") from None
        except RecursionError:
            raise _refused(path, "it is nested too deeply") from None
        except (ValueError, KeyError, TypeError) as error:
            raise _refused(path, str(error)) from None

    def _names(self) -> list[str]:
        """A name for each of our ids, no two alike."""
        names, taken = list(SPECIAL_TOKENS), set(SPECIAL_TOKENS)
        for theirs in self.order[len(SPECIAL_TOKENS) :]:
            name = self._library.id_to_token(theirs)
            name = f"<unused {theirs}>" if name is None else name
            name = name if name not in taken else f"{name}<{theirs}>"
            taken.add(name)
            names.append(name)
        return names


def is_imported(path: Path) -> bool:
    """Whether a file is an imported tokenizer, by its first letters."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_OPENING)) == _OPENING.encode()
    except OSError:
        return False


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer of either make."""
    return ImportedTokenizer.load(path) if is_imported(path) else Tokenizer.load(path)


def read_library_tokenizer(document: str) -> Any:
    """Have the library read a `tokenizer.json`; a ValueError where it cannot, whatever way it fails."""
    try:
        return LibraryTokenizer.from_str(document)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise ValueError(f"the tokenizers library cannot read it ({str(error)[:200]})") from None


def _checked_order(order: Any) -> list[int]:
    if not isinstance(order, list) or not len(SPECIAL_TOKENS) < len(order) <= MOST_TOKENS:
        raise ValueError("its `order` is no list of token numbers")
    if not all(type(number) is int and -1 <= number <= MOST_TOKENS for number in order):
        raise ValueError("its `order` holds something that is no token number")
    learned = order[len(SPECIAL_TOKENS) :]
    every = set(order) - {-1}
    if -1 in learned or len(set(learned)) != len(learned) or every != set(range(len(every))):
        raise ValueError("its `order` does not name each token once")
    return order


def _refused(path: Path, reason: str) -> ModelFolderError:
    return ModelFolderError(f"{path} is not a tokenizer that regard can use: {reason}. Restore the file.")
