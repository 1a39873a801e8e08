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


def check_texts(data: DataConfig, run: Path, teachers: Sequence[Path] = ()) -> None:
    """See that every file can be read, and holds what it held when the run in this folder began, if it did.

    `teachers` are files of models that the run learns from, too.
    """
    texts = files_of(data)
    for file in texts:
        check_readable(file)
    check_files(texts, run)
    check_files(teachers, run, "model")


def check_files(files: Iterable[Path], run: Path, what: str = "text") -> None:
    """Refuse files that hold something else than what the run in this folder knows of them."""
    known = _read(run / TEXTS)
    for file in files:
        before = known.get(str(file))
        if before is not None and _changed(file, before):
            other = "another" if what == "model" else "other"
            raise CorpusError(
                f"{file}: holds {other} {what} than when the run in {run} began; put that {what} back, or choose "
                "another folder with --run"
            )


def keep_texts(data: DataConfig, run: Path, teachers: Sequence[Path] = ()) -> None:
    """Write down what the files hold, as far as that is not known."""
    keep_files([*files_of(data), *teachers], run)


def keep_files(files: Iterable[Path], run: Path) -> None:
    """Write down what further files hold, as far as that is not known."""
    known = _read(run / TEXTS)
    missing = [file for file in files if file.is_file() and not known.get(str(file))]  # a pipe cannot be read twice
    with task("reading the text", len(missing)) as work:
        found = dict(known)
        for file in missing:
            found[str(file)] = _facts(file)
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
