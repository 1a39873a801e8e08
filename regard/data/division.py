"""`regard split`: text of one's own divided into training, validation and test, with no sentence in two of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard import progress
from regard.atomic import new_folder
from regard.config import CorpusConfig, DataConfig
from regard.data.corpus import Faults, Pair, corpus_files, read_pairs
from regard.data.lines import check_readable
from regard.data.scripts import language_by_name
from regard.data.sentences import HASH_TYPE, as_numbers, number_of, repeats, sentence_number
from regard.data.splits import assign, linked
from regard.errors import CorpusError, InputError

PARTS = ("train", "validation", "test")
HELD_OUT = 1000
"""Pairs of validation and of test, where a corpus is large enough,"""
SMALLEST_SHARE = 20
"""and where it is not, one of so many."""
AGAIN = -1
"""The part of a pair that stood there before: none."""


@dataclass(frozen=True)
class Part:
    """One part of a corpus: how many pairs it has, and its two files."""

    name: str
    pairs: int
    source: str
    target: str


@dataclass(frozen=True)
class Division:
    """What became of a corpus."""

    languages: tuple[str | None, str | None]
    parts: list[Part]
    repeated: int
    faults: Faults

    def to_text(self) -> str:
        """The parts, what was left out, and the lines for a recipe."""
        width = max(len(f"{part.pairs:,}") for part in self.parts)
        lines = [f"{part.name:<10}  {part.pairs:>{width},} pairs  {part.source}, {part.target}" for part in self.parts]
        left_out = [str(self.faults)] if self.faults.skipped else []
        if self.repeated:
            left_out.append(f"repeated pairs, taken once: {self.repeated:,} left out")
        shared = "No sentence stands in two parts, on either side and but for case, spaces and punctuation."
        return "\n".join([*lines, "", *left_out, shared, "", "For the recipe:", "", *self._recipe()]) + "\n"

    def _recipe(self) -> list[str]:
        codes = [f'"{code}"' if code else '"?"     # name it' for code in self.languages]
        entries = [
            f'{part.name} = [{{ source = "{part.source}", target = "{part.target}" }}]'
            for part in self.parts
            if part.name != "test"
        ]
        return ["[data]", f"source_language = {codes[0]}", f"target_language = {codes[1]}", *entries]

    def to_json(self) -> dict[str, Any]:
        """The same in plain values."""
        return {
            "source_language": self.languages[0],
            "target_language": self.languages[1],
            "parts": {part.name: vars(part) for part in self.parts},
            "repeated": self.repeated,
            "left_out": self.faults.to_json(),
        }


def divide(
    corpus: CorpusConfig,
    output: str | Path,
    *,
    validation: int | None = None,
    test: int | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    seed: int = 1,
) -> Division:
    """Write `train`, `validation` and `test` of a corpus into the folder `output`, in the order that the text has.

    Pairs that share a sentence stay together (`splits`); repeated pairs are taken once; bad lines are left out. The
    choice depends on the text and the seed alone. The text is read twice; in between, about 130 bytes of memory go to
    each pair.
    """
    files = corpus_files(corpus)
    source, target = (code or language_by_name([file]) for code, file in zip(languages, files, strict=True))
    endings = (source, target) if source and target and source != target else ("source", "target")
    named = {"source_language": source, "target_language": target}
    data = DataConfig().model_copy(update={key: code for key, code in named.items() if code})
    faults = Faults()
    for file in files:
        check_readable(Path(file))
        if not Path(file).is_file():
            raise CorpusError(f"{file}: is a pipe or a device, and must be read twice; write it to a file first")
    with new_folder(output) as folder:
        part_of, repeated = _choose(corpus, data, faults, (validation, test), seed)
        _write(corpus, data, part_of, folder, endings)
    parts = [
        Part(name, int((part_of == number).sum()), *(str(Path(output) / f"{name}.{ending}") for ending in endings))
        for number, name in enumerate(PARTS)
    ]
    return Division((source, target), [part for part in parts if part.pairs], repeated, faults)


def _choose(
    corpus: CorpusConfig, data: DataConfig, faults: Faults, held_out: Sequence[int | None], seed: int
) -> tuple[NDArray[np.int64], int]:
    """For each usable pair, in order, the number of its part or AGAIN; and how many are of the second kind."""
    pairs, sources, targets = array(HASH_TYPE), array(HASH_TYPE), array(HASH_TYPE)
    with progress.task("reading") as work:
        for pair in read_pairs(corpus, data, faults):
            source, target = _texts(pair)
            pairs.append(number_of(f"{seed}\t{source}\t{target}"))
            sources.append(sentence_number(source))
            targets.append(sentence_number(target))
            if not len(pairs) % 1000:
                work.advance(1000)
    part_of = np.full(len(pairs), AGAIN)
    again, _ = repeats(as_numbers(pairs))
    distinct = np.delete(np.arange(len(pairs)), again)
    capacities = _capacities(len(distinct), held_out)
    groups = linked([as_numbers(side)[distinct] for side in (sources, targets)])
    order = np.argsort(as_numbers(pairs)[distinct], kind="stable")
    part_of[distinct] = assign(groups, order, capacities)
    _check(part_of, capacities, corpus)
    return part_of, len(again)


def _capacities(pairs: int, held_out: Sequence[int | None]) -> list[int]:
    usual = min(HELD_OUT, pairs // SMALLEST_SHARE)
    if not usual and None in held_out:
        raise InputError(
            f"{pairs:,} pairs that differ are too few to hold a twentieth of them out: say how many, with --validation "
            "and --test (0: none)"
        )
    capacities = [usual if count is None else count for count in held_out]
    if sum(capacities) > pairs // 2:
        raise InputError(
            f"{pairs:,} pairs that differ cannot spare {capacities[0]:,} for validation and {capacities[1]:,} for "
            "test: ask for half of them at the most"
        )
    return capacities


def _check(part_of: NDArray[np.int64], capacities: list[int], corpus: CorpusConfig) -> None:
    """Say so where the text is of one piece, so that nothing can be held out."""
    for number, (name, capacity) in enumerate(zip(PARTS[1:], capacities, strict=True), start=1):
        if capacity and not (part_of == number).any():
            raise CorpusError(
                f"{corpus_files(corpus)[0]}: no pair can be held out for {name}, for too many share their sentences "
                f"with others; `regard doctor` shows them. --{name} 0 leaves that part out"
            )


def _write(
    corpus: CorpusConfig, data: DataConfig, part_of: NDArray[np.int64], folder: Path, endings: tuple[str, str]
) -> None:
    present = [number for number in range(len(PARTS)) if (part_of == number).any()]
    with ExitStack() as files, progress.task("writing", len(part_of)) as work:
        opened = {
            number: [
                files.enter_context(open(folder / f"{PARTS[number]}.{ending}", "w", encoding="utf-8", newline="\n"))
                for ending in endings
            ]
            for number in present
        }
        count = 0
        for count, pair in enumerate(read_pairs(corpus, data), start=1):
            part = int(part_of[count - 1]) if count <= len(part_of) else AGAIN
            if part != AGAIN:
                for file, text in zip(opened[part], _texts(pair), strict=True):
                    file.write(f"{text}\n")
            if not count % 1000:
                work.advance(1000)
        if count != len(part_of):
            raise CorpusError(f"{corpus_files(corpus)[0]}: changed while it was read; give the command again")


def _texts(pair: Pair) -> tuple[str, str]:
    return pair.source.strip(), pair.target.strip()
