"""`regard doctor`: what is wrong, doubtful or worth knowing in bilingual text, before anything is trained on it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard import progress
from regard.config import CorpusConfig, DataConfig
from regard.data.diagnosis import CorpusLines, Finding, Report, SideStatistics
from regard.data.faults import Fault, Faults
from regard.data.leakage import HeldOutFile, HeldOutIndex, read_held_out, summarize
from regard.data.records import Record, UnequalLinesError, corpus_files, read_records
from regard.data.scripts import is_wrong_script, language_by_name, main_script, scripts_of
from regard.data.sentences import HASH_TYPE, as_numbers, repeats, sentence_number

CHUNK = 1 << 16
"""Pairs whose sentences are looked up among the held-out ones at once."""


def examine(
    corpora: CorpusConfig | Sequence[CorpusConfig],
    data: DataConfig | None = None,
    against: Sequence[CorpusConfig | str | Path] = (),
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    examples: int = 10,
) -> Report:
    """Read corpora from end to end and report on them; only a file that cannot be read is an error.

    `against` are held-out sets (corpora, or plain files of either language) that training text must not contain. A
    language that is not given is guessed from the file's ending (`train.en.gz`); where it stays unknown, scripts are
    not checked. `examples` is how many places are named for each finding; the counts are exact.
    """
    corpora = [corpora] if isinstance(corpora, CorpusConfig) else list(corpora)
    languages = [source_language, target_language]
    given = dict(zip(("source_language", "target_language"), languages, strict=True))
    data = (data or DataConfig()).model_copy(update={key: code for key, code in given.items() if code})
    files = [corpus_files(corpus) for corpus in corpora]
    languages = [code or language_by_name(pair[side] for pair in files) for side, code in enumerate(languages)]
    held_out = [file for entry in against for file in read_held_out(entry, data)]
    examination = _Examination(data, (languages[0], languages[1]), held_out, examples)
    with progress.task("examining") as work:
        for corpus in corpora:
            examination.read(corpus, work)
    return examination.report()


class _Examination:
    """The state of a reading: tallies, and 64-bit hashes in place of sentences."""

    def __init__(
        self,
        data: DataConfig,
        languages: tuple[str | None, str | None],
        held_out: Sequence[HeldOutFile],
        examples: int,
    ) -> None:
        self._data = data
        self._languages = languages
        self._expect(languages)
        self._examples = examples
        self._faults = Faults(keep=examples)
        self._lengths: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._words = [0, 0]
        self._corpora: list[CorpusLines] = []
        self._first_records: list[int] = []
        self._numbers, self._pairs, self._sources = array(HASH_TYPE), array(HASH_TYPE), array(HASH_TYPE)
        self._held_out = held_out
        self._indexes = [HeldOutIndex(held_out, side) for side in (0, 1)]
        self._chunk = (array(HASH_TYPE), array(HASH_TYPE))
        self._leaking = 0

    def read(self, corpus: CorpusConfig, work: progress.Task) -> None:
        files = corpus_files(corpus)
        if len(self._data.pairs) > 1:
            self._expect(self._data.pair_of(corpus))
        first = sum(max(lines.source_lines, lines.target_lines) for lines in self._corpora)
        self._first_records.append(first)
        self._corpora.append(CorpusLines(*files, 0, 0))
        lines, usable_before = (0, 0), self._faults.pairs
        try:
            for record in read_records(corpus, self._data):
                lines = (record.line, record.line)
                self._examine(record, files, first + record.line)
                if not record.line % 1000:
                    work.advance(1000)
        except UnequalLinesError as error:
            lines = error.source_lines, error.target_lines
            self._faults.add(Fault("unequal-lines", files[lines[0] > lines[1]], min(lines) + 1, str(error)))
        self._corpora[-1] = CorpusLines(*files, *lines, self._faults.pairs - usable_before)
        self._look_for_leaks()

    def _expect(self, languages: tuple[str | None, str | None]) -> None:
        self._expected = languages
        self._scripts = (scripts_of(languages[0]), scripts_of(languages[1]))

    def _examine(self, record: Record, files: tuple[str, str], number: int) -> None:
        if record.faults:
            self._faults.skip(record.faults)
            return
        self._faults.pairs += 1
        source, target = record.source.strip(), record.target.strip()
        self._examine_side(0, source, files[0], record.line)
        self._examine_side(1, target, files[1], record.line)
        if source == target:
            self._faults.add(Fault("copy", files[0], record.line, f"both sides are the same: {_short(source)}"))
        self._numbers.append(number)
        self._pairs.append(hash((source, target)))
        self._sources.append(hash(source))
        if self._held_out:
            self._chunk[0].append(sentence_number(source))
            self._chunk[1].append(sentence_number(target))
            if len(self._chunk[0]) == CHUNK:
                self._look_for_leaks()

    def _examine_side(self, side: int, text: str, file: str, line: int) -> None:
        self._lengths[side][len(text)] += 1
        self._words[side] += len(text.split())
        if is_wrong_script(text, self._scripts[side]):
            expected = f"{self._expected[side]} is written in {' or '.join(self._scripts[side])}"
            detail = f"mostly {main_script(text)}, where {expected}: {_short(text)}"
            self._faults.add(Fault("wrong-script", file, line, detail))

    def _look_for_leaks(self) -> None:
        """Look the sentences of the last pairs up among the held-out ones."""
        start = len(self._numbers) - len(self._chunk[0])
        found = [index.find(as_numbers(self._chunk[side])) for side, index in enumerate(self._indexes)]
        leaking = np.flatnonzero((found[0] >= 0) | (found[1] >= 0))
        for offset in leaking[: max(0, self._examples - self._leaking)]:
            fault = self._leak(self._numbers[start + int(offset)], [int(found[side][offset]) for side in (0, 1)])
            self._faults.examples.setdefault("leak", []).append(fault)
        self._leaking += len(leaking)
        self._chunk = (array(HASH_TYPE), array(HASH_TYPE))

    def _leak(self, number: int, found: list[int]) -> Fault:
        corpus, line = self._place(number)
        places = [self._indexes[side].place(found[side]) for side in (0, 1) if found[side] >= 0]
        if len(places) == 2:
            return Fault("leak", corpus.source, line, f"also {places[0]}, its target also {places[1]}")
        on_source = found[0] >= 0
        what = "" if corpus.source != corpus.target else "the source: " if on_source else "the target: "
        return Fault("leak", corpus.source if on_source else corpus.target, line, f"{what}also {places[0]}")

    def _place(self, number: int) -> tuple[CorpusLines, int]:
        """The corpus and the line of a record, by its number in the whole reading (from 1)."""
        corpus = bisect_right(self._first_records, number - 1) - 1
        return self._corpora[corpus], number - self._first_records[corpus]

    def report(self) -> Report:
        counts = self._faults.counts | self._repetitions()
        if self._leaking:
            counts["leak"] = self._leaking
        return Report(
            corpora=self._corpora,
            pairs=self._faults.pairs + self._faults.skipped,
            usable_pairs=self._faults.pairs,
            on_bad_line=self._data.on_bad_line,
            findings=[Finding(cause, count, self._faults.examples.get(cause, [])) for cause, count in counts.items()],
            sides=tuple(self._statistics(side) for side in (0, 1)),
            leakage=summarize(self._held_out, self._indexes),
        )

    def _repetitions(self) -> dict[str, int]:
        """Pairs that occur again, and sources that occur again with another target."""
        numbers = as_numbers(self._numbers)
        again, first = repeats(as_numbers(self._pairs))
        others = np.delete(np.arange(len(numbers)), again)
        same, before = repeats(as_numbers(self._sources)[others])
        groups = {
            "duplicate": (again, first, "the same pair as {}"),
            "same-source": (others[same], others[before], "the same source as {}, with another target"),
        }
        for cause, (where, earlier, detail) in groups.items():
            for now, then in zip(where[: self._examples], earlier[: self._examples], strict=True):
                corpus, line = self._place(int(numbers[now]))
                other, other_line = self._place(int(numbers[then]))
                place = f"line {other_line}" if other is corpus else f"{other.source}:{other_line}"
                fault = Fault(cause, corpus.source, line, detail.format(place))
                self._faults.examples.setdefault(cause, []).append(fault)
        return {cause: len(where) for cause, (where, _, _) in groups.items() if len(where)}

    def _statistics(self, side: int) -> SideStatistics:
        lengths = self._lengths[side]
        characters = sum(length * count for length, count in lengths.items())
        language = self._languages[side]
        return SideStatistics.of(language, scripts_of(language), characters, self._words[side], lengths)


def _short(text: str) -> str:
    """The beginning of a text, printable on one line."""
    shown = text if len(text) <= 60 else text[:59] + "…"
    return "".join(character if character.isprintable() else "�" for character in shown)
