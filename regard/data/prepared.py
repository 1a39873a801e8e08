"""A corpus made ready for training: checked, tokenized and laid out in flat files that are mapped, not loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.atomic import explained, make_folder, new_folder, remove_folder, sweep
from regard.config import CorpusConfig, DataConfig
from regard.data.corpus import Faults, Pair, corpus_files, read_pairs
from regard.data.ragged import RaggedFiles, RaggedWriter, Rows
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.errors import CorpusError
from regard.locking import FolderLock
from regard.progress import task

MANIFEST = "manifest.json"
LAYOUT = 1  # of the files below; a folder with another one is prepared anew
CHUNK_PAIRS = 10_000
CHUNK_CHARACTERS = 4_000_000
TEXTS = ("source.text", "target.text")
TOKENS = ("source.tokens", "target.tokens")


class PreparedCorpus:
    """Pairs on disk, as text and as token ids, in the order of their files; opening it costs nothing.

    Each of `source`, `target` (token ids, no marks added), `source_text` and `target_text` (UTF-8) holds one row a
    pair, mapped from its file.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.corpus_sizes = tuple(int(size) for size in manifest["corpus_sizes"])
        self.left_out = int(manifest["left_out"])
        self.faults = Faults.from_json(manifest["faults"])
        self._files = {name: RaggedFiles(folder, name, dtype) for name, dtype in manifest["dtypes"].items()}
        self.source_text, self.target_text = (self._files[name].rows for name in TEXTS)
        self.source, self.target = (self._files[name].rows for name in TOKENS)

    @classmethod
    def build(
        cls, folder: Path, corpora: Sequence[CorpusConfig], data: DataConfig, tokenizers: Tokenizers
    ) -> PreparedCorpus:
        """Prepare the corpora in `folder`, or open what is there if it was made of the same files in the same way.

        A prepared corpus appears whole or not at all, and one made of other files is removed only after that.
        Several processes of one machine may call this at once: one of them does the work.
        """
        with explained(folder):
            make_folder(folder)
            with FolderLock(folder, wait=True):
                fingerprint = _fingerprint(corpora, data, tokenizers)
                home = folder / fingerprint[:16]
                if not _is_whole(home, fingerprint):
                    _prepare(home, corpora, data, tokenizers, fingerprint)
                for other in _homes(folder):
                    if other != home:
                        remove_folder(other)
        return cls._open(home)

    @classmethod
    def open(cls, folder: Path) -> PreparedCorpus:
        """Open what `build` made in `folder`; CorpusError if it is missing or damaged."""
        for home in _homes(folder):
            return cls._open(home)
        raise CorpusError(f"{folder}: no prepared corpus here; training prepares one from the files of a recipe")

    @classmethod
    def _open(cls, home: Path) -> PreparedCorpus:
        try:
            return cls(home, _checked_manifest(home))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorpusError(f"{home}: damaged ({error}); delete it, and it will be prepared anew") from error

    def __len__(self) -> int:
        return len(self.source)

    def source_ids(self, index: int) -> NDArray[np.int64]:
        return self.source.row(index).astype(np.int64)

    def target_ids(self, index: int) -> NDArray[np.int64]:
        return self.target.row(index).astype(np.int64)

    def source_texts(self, indices: Iterable[int]) -> list[str]:
        return [self.source_text.row(index).tobytes().decode() for index in indices]

    def target_texts(self, indices: Iterable[int]) -> list[str]:
        return [self.target_text.row(index).tobytes().decode() for index in indices]

    def corpus_of(self, indices: Rows) -> NDArray[np.int64]:
        """Which of the corpora each pair came from, counted from 0."""
        return np.searchsorted(np.cumsum(self.corpus_sizes), indices, side="right")

    def release(self) -> None:
        """Give back the memory of pages looked at so far; they are read again when they are needed."""
        for files in self._files.values():
            files.release()


def _prepare(
    home: Path, corpora: Sequence[CorpusConfig], data: DataConfig, tokenizers: Tokenizers, fingerprint: str
) -> None:
    sweep(home.parent)
    if home.exists():  # damaged
        remove_folder(home)
    with new_folder(home) as partial:
        _Build(data, tokenizers).write(partial, corpora, fingerprint)


def _homes(folder: Path) -> list[Path]:
    """The prepared corpora in a folder: one, unless a process was killed between making one and removing another."""
    return sorted(
        manifest.parent for manifest in folder.glob(f"*/{MANIFEST}") if not manifest.parent.name.startswith(".")
    )


class _Build:
    """One pass over the corpora: reads, tokenizes and writes them chunk by chunk, and counts."""

    def __init__(self, data: DataConfig, tokenizers: Tokenizers) -> None:
        self._data, self._tokenizers = data, tokenizers
        self._corpus_sizes: list[int] = []
        self._left_out = 0
        self._faults = Faults()
        self._dtypes = dict.fromkeys(TEXTS, "|u1") | {
            name: _dtype(tokenizer)
            for name, tokenizer in zip(TOKENS, (tokenizers.source, tokenizers.target), strict=True)
        }

    def write(self, folder: Path, corpora: Sequence[CorpusConfig], fingerprint: str) -> None:
        with ExitStack() as stack, task("preparing the corpus") as work:
            writers = {
                name: stack.enter_context(RaggedWriter(folder, name, dtype)) for name, dtype in self._dtypes.items()
            }
            for corpus in corpora:
                self._corpus_sizes.append(0)
                tokenizers = tokenizers_for(corpus, self._data, self._tokenizers)
                for chunk in _chunks(read_pairs(corpus, self._data, self._faults)):
                    self._write_chunk(chunk, tokenizers, writers)
                    work.advance(len(chunk))
        if not sum(self._corpus_sizes):
            raise CorpusError(self._nothing_left(corpora))
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        manifest = dict(layout=LAYOUT, fingerprint=fingerprint, dtypes=self._dtypes, sizes=sizes)
        manifest |= dict(corpus_sizes=self._corpus_sizes, left_out=self._left_out, faults=self._faults.to_json())
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")

    def _write_chunk(self, chunk: list[Pair], tokenizers: Tokenizers, writers: dict[str, RaggedWriter]) -> None:
        sources = tokenizers.source.encode_batch([pair.source for pair in chunk])
        targets = tokenizers.target.encode_batch([pair.target for pair in chunk])
        limit = self._data.max_tokens
        kept = [place for place in range(len(chunk)) if max(len(sources[place]), len(targets[place])) <= limit]
        self._corpus_sizes[-1] += len(kept)
        self._left_out += len(chunk) - len(kept)
        writers[TEXTS[0]].write_texts(chunk[place].source for place in kept)
        writers[TEXTS[1]].write_texts(chunk[place].target for place in kept)
        writers[TOKENS[0]].write_rows([sources[place] for place in kept])
        writers[TOKENS[1]].write_rows([targets[place] for place in kept])

    def _nothing_left(self, corpora: Sequence[CorpusConfig]) -> str:
        files = ", ".join(file for corpus in corpora for file in dict.fromkeys(corpus_files(corpus)))
        return (
            f"{files or 'no corpus given'}: nothing to learn from; {self._faults}, and of those that can be used "
            f"{self._left_out:,} have more than {self._data.max_tokens} tokens on a side (data.max_tokens)"
        )


def tokenizers_for(corpus: CorpusConfig, data: DataConfig, tokenizers: Tokenizers) -> Tokenizers:
    """The tokenizers for a corpus: with the tag of its target language before each source, where there are tags."""
    return tokenizers.tagged(data.pair_of(corpus)[1]) if data.tags else tokenizers


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _dtype(tokenizer: Tokenizer) -> str:
    return "<u2" if tokenizer.vocabulary_size < 1 << 16 else "<u4"


def _fingerprint(corpora: Sequence[CorpusConfig], data: DataConfig, tokenizers: Tokenizers) -> str:
    """Says from what and how a corpus is prepared; what only steers the order is no part of it."""
    facts = {
        "layout": LAYOUT,
        "corpora": [corpus.model_dump(exclude={"weight", "epochs", "target_by", "source_by"}) for corpus in corpora],
        "files": [_file_facts(Path(file)) for corpus in corpora for file in corpus_files(corpus)],
        "data": data.model_dump(exclude={"train", "validation"}),
        "tokenizers": [tokenizers.source.to_json(), tokenizers.target.to_json()],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _file_facts(path: Path) -> list[str | int]:
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return [str(path.absolute())]  # reading it will say what is the matter
    return [str(path.absolute()), facts.st_size, facts.st_mtime_ns]


def _checked_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, if all its files are there in full; ValueError or OSError if not."""
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if manifest["layout"] != LAYOUT:
        raise ValueError(f"its files have layout {manifest['layout']}, not {LAYOUT}")
    for name, size in manifest["sizes"].items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{name} has not its {size:,} bytes")
    return manifest


def _is_whole(home: Path, fingerprint: str) -> bool:
    try:
        return bool(_checked_manifest(home)["fingerprint"] == fingerprint)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
