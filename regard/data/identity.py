"""What the files of a run held when it began, by which it notices that one of them holds something else now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.atomic import write_file
from regard.config import DataConfig
from regard.data.lines import check_readable, raw_lines
from regard.data.records import corpus_files
from regard.errors import CorpusError
from regard.progress import task

TEXTS = "texts.json"
WEIGHTS_SUFFIX = ".safetensors"

Facts = dict[str, Any]
"""Of a file: its bytes and time, which tell cheaply that nothing was touched, and the sha256 of its lines."""


def files_of(data: DataConfig) -> list[Path]:
    """All files that a run learns from or is judged by, each once."""
    corpora = (*data.train, *data.validation)
    return [Path(file) for file in dict.fromkeys(file for corpus in corpora for file in corpus_files(corpus))]


def check_texts(data: DataConfig, run: Path, models: Sequence[Path] = ()) -> None:
    """See that every file can be read, and holds what it held when the run in this folder began, if it did.

    `models` are files of models that the run learns from, too, or from what they write.
    """
    texts = files_of(data)
    for file in texts:
        check_readable(file)
    known = _read(run / TEXTS)
    for file in (*texts, *models):
        before = known.get(str(file))
        if before is not None and _changed(file, before):
            what = ("another model", "that model") if file in models else ("other text", "that text")
            raise CorpusError(
                f"{file}: holds {what[0]} than when the run in {run} began; put {what[1]} back, or choose another "
                "folder with --run"
            )


def keep_texts(data: DataConfig, run: Path, models: Sequence[Path] = ()) -> None:
    """Write down what the files hold, as far as that is not known."""
    known, found = _read(run / TEXTS), {}
    files = [file for file in (*files_of(data), *models) if file.is_file()]  # a pipe cannot be read twice
    with task("reading the text", len(files)) as work:
        for file in files:
            found[str(file)] = known.get(str(file)) or _facts(file)
            work.advance()
    if found != known:
        write_file(run / TEXTS, json.dumps(found, indent=1, ensure_ascii=False).encode())


def _read(path: Path) -> dict[str, Facts]:
    """What was written down; nothing where that is missing or damaged."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {file: dict(facts) for file, facts in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _changed(file: Path, before: Facts) -> bool:
    return file.is_file() and not _touched_by_nobody(file, before) and _digest(file) != before.get("sha256")


def _touched_by_nobody(file: Path, before: Facts) -> bool:
    now = file.stat()
    return (before.get("bytes"), before.get("time")) == (now.st_size, now.st_mtime_ns)


def _facts(file: Path) -> Facts:
    now = file.stat()
    return {"bytes": now.st_size, "time": now.st_mtime_ns, "sha256": _digest(file)}


def _digest(file: Path) -> str:
    """Of a text's lines, however it is packed; of weights, all bytes."""
    if file.suffix != WEIGHTS_SUFFIX:
        return _digest_of_lines(raw_lines(file))
    with open(file, "rb") as weights:
        return hashlib.file_digest(weights, "sha256").hexdigest()


def _digest_of_lines(lines: Iterable[bytes | None]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(b"\r" if line is None else line + b"\n")
    return digest.hexdigest()
