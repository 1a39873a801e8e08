"""Every line of a corpus as a record, good or bad, numbered and aligned; each format has its reader here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from regard.config import CorpusConfig, DataConfig
from regard.data.checks import PairCheck
from regard.data.faults import Fault
from regard.data.lines import check_readable, raw_lines, utf8_fault
from regard.errors import CorpusError

BYTES_A_CHARACTER = 32
"""Room for a line: two sides, each character as much as 12 bytes (`\\\\ud83d\\\\ude00` in JSON), and other columns."""

FIRST_LINES = 100
"""Of a TSV, by which its number of columns is told."""


class UnequalLinesError(CorpusError):
    """Two files that should be aligned have different numbers of lines."""

    def __init__(self, source: str, source_lines: int, target: str, target_lines: int) -> None:
        self.source_lines, self.target_lines = source_lines, target_lines
        super().__init__(
            f"{source} has {source_lines:,} lines but {target} has {target_lines:,}: line n of one must be the "
            "translation of line n of the other; find the missing lines, or take both files from one place"
        )


@dataclass(frozen=True, slots=True)
class Record:
    """Line `line` of a corpus: its two sides, and what is wrong with it (then a side may be empty)."""

    line: int
    source: str
    target: str
    faults: tuple[Fault, ...] = ()


def corpus_files(corpus: CorpusConfig) -> tuple[str, str]:
    """The files of the source and of the target side; the same one twice for TSV and JSON lines."""
    if corpus.pairs is not None:
        return corpus.pairs, corpus.pairs
    if corpus.source is None or corpus.target is None:
        raise CorpusError("a corpus needs `source` and `target` (two aligned files) or `pairs` (one file)")
    return corpus.source, corpus.target


def corpus_format(corpus: CorpusConfig) -> str:
    """`text`, `tsv` or `jsonl`: as configured, or by the file's name."""
    if corpus.pairs is None:
        if corpus.format in ("tsv", "jsonl"):
            raise CorpusError(
                f'{corpus.source}: format = "{corpus.format}" is one file with both sides; '
                "give it as `pairs`, without `source` and `target`"
            )
        return "text"
    if corpus.format == "text":
        raise CorpusError(f'{corpus.pairs}: format = "text" is two files; give them as `source` and `target`')
    if corpus.format != "auto":
        return corpus.format
    found = format_by_name(corpus.pairs)
    if not found:
        raise CorpusError(
            f'{corpus.pairs}: cannot tell the format by the name; add format = "tsv" (source, tab, target) '
            'or format = "jsonl" (one JSON object a line)'
        )
    return found


def format_by_name(path: str) -> str | None:
    """`tsv` or `jsonl`, as the ending of a file with both sides says, before any `.gz`."""
    ending = Path(path.lower().removesuffix(".gz")).suffix
    return {".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl"}.get(ending)


def read_records(corpus: CorpusConfig, data: DataConfig) -> Iterator[Record]:
    """Every line of a corpus, checked; raises UnequalLinesError at the end of two files that do not match."""
    files = corpus_files(corpus)
    source_language, target_language = data.pair_of(corpus)
    data = data.model_copy(update={"source_language": source_language, "target_language": target_language})
    reader = _READERS[corpus_format(corpus)]
    for file in dict.fromkeys(files):
        check_readable(Path(file))
    return reader(*files, data)


def _limit(data: DataConfig) -> int:
    return max(1 << 16, BYTES_A_CHARACTER * data.max_characters)


def _read_text(source: str, target: str, data: DataConfig) -> Iterator[Record]:
    check = PairCheck(source, target, data)
    limit = _limit(data)
    end = object()
    lines = [0, 0]
    for sides in zip_longest(raw_lines(source, limit), raw_lines(target, limit), fillvalue=end):
        if sides[0] is not end and sides[1] is not end:
            lines[0] = lines[1] = lines[0] + 1
            yield _record(lines[0], sides, check, limit)
        else:
            lines[sides[0] is end] += 1
    if lines[0] != lines[1]:
        raise UnequalLinesError(source, lines[0], target, lines[1])


def _record(line: int, raw: tuple[Any, ...], check: PairCheck, limit: int) -> Record:
    source = _decode(line, 0, raw[0], check, limit)
    target = _decode(line, 1, raw[1], check, limit)
    if isinstance(source, str) and isinstance(target, str):
        return Record(line, source, target, tuple(check.faults(line, source, target)))
    faults = tuple(side for side in (source, target) if isinstance(side, Fault))
    texts = ["" if isinstance(side, Fault) else side for side in (source, target)]
    return Record(line, texts[0], texts[1], faults)


def _decode(line: int, side: int, raw: bytes | None, check: PairCheck, limit: int) -> str | Fault:
    if raw is None:
        return check.fault("too-long", line, side, f"{{}} has more than {limit:,} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return check.fault("invalid-utf8", line, side, utf8_fault(error))


Parse = Callable[[str], tuple[str, str]]


def _read_tsv(path: str, _: str, data: DataConfig) -> Iterator[Record]:
    lines = raw_lines(path, _limit(data))
    first = list(islice(lines, FIRST_LINES))
    return _read_parsed(path, data, chain(first, lines), _Columns(first).parse)


def _read_json_lines(path: str, _: str, data: DataConfig) -> Iterator[Record]:
    return _read_parsed(path, data, raw_lines(path, _limit(data)), _Objects(data).parse)


def _read_parsed(path: str, data: DataConfig, lines: Iterable[bytes | None], parse: Parse) -> Iterator[Record]:
    """Records of one file with both sides on each line; `parse` raises ValueError with what is wrong."""
    check = PairCheck(path, path, data)
    limit = _limit(data)
    for line, raw in enumerate(lines, start=1):
        if raw is None:
            yield Record(line, "", "", (Fault("too-long", path, line, f"this line has more than {limit:,} bytes"),))
            continue
        try:
            source, target = parse(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield Record(line, "", "", (Fault("invalid-utf8", path, line, utf8_fault(error)),))
        except ValueError as error:
            yield Record(line, "", "", (Fault("malformed", path, line, str(error)),))
        else:
            yield Record(line, source, target, tuple(check.faults(line, source, target)))


class _Columns:
    """Source, tab, target. Further columns are not read, but every line must have as many as most of the first have."""

    def __init__(self, first: Iterable[bytes | None]) -> None:
        counts = Counter(line.count(b"\t") + 1 for line in first if line is not None and b"\t" in line)
        self._expected = counts.most_common(1)[0][0] if counts else 2

    def parse(self, text: str) -> tuple[str, str]:
        columns = text.split("\t")
        if len(columns) < 2:
            raise ValueError("no tab between source and target")
        if len(columns) != self._expected:
            # a stray tab inside a sentence would cut it short without a word
            raise ValueError(f"{len(columns)} columns where the first lines have {self._expected}")
        return columns[0], columns[1]


class _Objects:
    """`{"source": …, "target": …}`, or `{"translation": {"en": …, "fr": …}}` with the languages of the run."""

    def __init__(self, data: DataConfig) -> None:
        self._languages = data.source_language, data.target_language

    def parse(self, text: str) -> tuple[str, str]:
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise ValueError("not JSON that can be read: nested too deep") from None
        if not isinstance(value, dict):
            raise ValueError('not a JSON object such as {"source": "…", "target": "…"}')
        keys = ("source", "target")
        if isinstance(value.get("translation"), dict):
            value, keys = value["translation"], self._languages
        return _text_of(value, keys[0]), _text_of(value, keys[1])


def _text_of(values: dict[str, Any], key: str) -> str:
    if key not in values:
        found = ", ".join(f'"{name[:20]}"' for name in list(values)[:5]) or "none"
        raise ValueError(f'no key "{key}" (keys here: {found})')
    if not isinstance(values[key], str):
        raise ValueError(f'"{key}" is not a string')
    return str(values[key])


_READERS: dict[str, Callable[[str, str, DataConfig], Iterator[Record]]] = {
    "text": _read_text,
    "tsv": _read_tsv,
    "jsonl": _read_json_lines,
}
