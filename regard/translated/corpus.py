"""A teacher's translations of a training text, made block by block, so that work which was interrupted goes on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Unpack

from regard.atomic import explained, remove_folder, sweep, write_file
from regard.data.checks import PairCheck
from regard.data.corpus import Pair
from regard.errors import RegardError
from regard.evaluate.metrics import chrf_metric
from regard.progress import task
from regard.search.options import SearchOptions
from regard.search.translator import Translation, Translator

BLOCK_PAIRS = 2000
"""Pairs that are translated and written at a time: what an interruption can cost."""
PAIRS, SETTINGS, BLOCKS = "pairs.jsonl", "settings.json", "blocks"

Choice = Literal["likeliest", "closest"]
Read = Callable[[], Iterable[Pair]]


@dataclass(frozen=True)
class Taught:
    """What a teacher made of a corpus."""

    path: Path
    pairs: int
    same: int
    """Translations that are the reference, word for word."""
    replaced: int
    """Pairs whose translation was empty, did not end or made a bad pair: their reference stands in for it."""


class TaughtCorpus:
    """Translations in a folder: `pairs.jsonl` when all are there, a file for each block until then.

    Where they lead `back`, pairs come turned, and are written with the translation as their source.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], check: PairCheck, back: bool = False) -> None:
        self._folder, self._settings, self._check, self._back = folder, dict(settings), check, back

    def made(
        self, translator: Translator, read: Read, choice: Choice = "likeliest", **search: Unpack[SearchOptions]
    ) -> Taught:
        """The translations of all pairs that `read()` gives, made as far as they are not there yet."""
        count, digest = _described(read())
        self._agree({**self._settings, "choice": choice, "search": dict(search), "pairs": count, "text": digest})
        if not (self._folder / PAIRS).exists():
            self._translate(translator, read, choice, count, **search)
            self._join()
        return self._read(count)

    def _agree(self, settings: dict[str, Any]) -> None:
        """See that what is in the folder was made in this way, or begin."""
        path = self._folder / SETTINGS
        sweep(self._folder)
        if not path.exists():
            write_file(path, json.dumps(settings, indent=1, ensure_ascii=False).encode())
            return
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            different = next((key for key in settings if before.get(key) != settings[key]), None)
        except (OSError, ValueError, AttributeError):
            different = "settings"
        if different is not None:
            raise RegardError(
                f"{self._folder}: holds translations made with another `{different}`; choose another folder with "
                "--run, or remove this one to have them made anew"
            )

    def _translate(
        self, translator: Translator, read: Read, choice: Choice, count: int, **search: Unpack[SearchOptions]
    ) -> None:
        done = min(count, BLOCK_PAIRS * sum(1 for _ in (self._folder / BLOCKS).glob("*.jsonl")))
        with task(f"translating the {'targets' if self._back else 'training text'}", count, done) as work:
            for number, block in enumerate(_blocks(read())):
                path = self._folder / BLOCKS / f"{number:06d}.jsonl"
                if path.exists():
                    continue
                best = 1 if choice == "likeliest" else None
                sources = [pair.source for pair in block]
                first_line = number * BLOCK_PAIRS + 1
                found = translator.translate_nbest(sources, best, progress=work, first_line=first_line, **search)
                chosen = (_chosen(one, pair, self._check) for one, pair in zip(found, block, strict=True))
                lines = (_line(pair, text, self._back) for pair, text in zip(block, chosen, strict=True))
                write_file(path, "".join(lines).encode())

    def _join(self) -> None:
        """Put the blocks end to end into one file."""
        aside, whole = self._folder / f".{PAIRS}.00000000.part", self._folder / PAIRS
        with explained(whole):
            with open(aside, "wb") as file:
                for path in sorted((self._folder / BLOCKS).glob("*.jsonl")):
                    with open(path, "rb") as block:
                        shutil.copyfileobj(block, file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(whole)
        remove_folder(self._folder / BLOCKS)

    def _read(self, expected: int) -> Taught:
        counts = {"pairs": 0, "same": 0, "replaced": 0}
        path = self._folder / PAIRS
        try:
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    how = json.loads(line)["teacher"]
                    counts["pairs"] += 1
                    counts["same"] += how == "same"
                    counts["replaced"] += how == "replaced"
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise RegardError(f"{path}: damaged ({error}); remove it, and it will be made anew") from None
        if counts["pairs"] != expected:
            raise RegardError(
                f"{path}: has {counts['pairs']:,} lines for {expected:,} pairs; remove it, and it will be made anew"
            )
        return Taught(path, **counts)


def _described(pairs: Iterable[Pair]) -> tuple[int, str]:
    """How many pairs there are, and a digest of their text."""
    digest, count = hashlib.sha256(), 0
    for pair in pairs:
        digest.update(f"{pair.source}\n{pair.target}\n".encode())
        count += 1
    return count, digest.hexdigest()


def _blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    remaining = iter(pairs)
    while block := list(islice(remaining, BLOCK_PAIRS)):
        yield block


def _chosen(found: Sequence[Translation], pair: Pair, check: PairCheck) -> str | None:
    """The translation to learn from: the likeliest, or of several the one most like the reference, by chrF."""
    ended = [each.text for each in found if each.finished and not each.looped]
    usable = [text for text in ended if not check.faults(pair.line, pair.source, text)]
    if len(usable) < 2:
        return usable[0] if usable else None
    metric = chrf_metric()
    return max(usable, key=lambda text: metric.sentence_score(text, [pair.target]).score)


def _line(pair: Pair, translation: str | None, back: bool) -> str:
    how = "replaced" if translation is None else "same" if translation == pair.target else "changed"
    made = pair.target if translation is None else translation
    source, target = (made, pair.source) if back else (pair.source, made)
    return json.dumps({"source": source, "target": target, "teacher": how}, ensure_ascii=False) + "\n"
