"""Exports that `regard translate --engine` makes once and keeps, under the hash of what they were made from."""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

from regard.atomic import new_folder
from regard.data.tokenizer import SHARED_FILE, SOURCE_FILE, TARGET_FILE
from regard.errors import RegardError
from regard.models.folder import CONFIG, WEIGHTS, LoadedModel
from regard.portability import optional
from regard.portability.ctranslate2_format import write_ctranslate2
from regard.progress import note

CACHE = "REGARD_CACHE"
"""The environment variable that names the folder of the cache; by default ~/.cache/regard."""

_FORM = 1
"""Of the export itself: another number makes every export anew."""


def cache_folder() -> Path:
    """Where exports are kept."""
    home = os.environ.get(CACHE)
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def cached_export(folder: str | Path, loaded: LoadedModel) -> Path:
    """The CTranslate2 form of a model folder: the one in the cache, or a fresh one that is put there."""
    optional.ctranslate2()
    place = cache_folder() / "ctranslate2" / _fingerprint(Path(folder))
    if (place / "model.bin").is_file():
        return place
    note(f"{folder}: exporting it to CTranslate2, once, into {place}")
    try:
        with new_folder(place) as aside:
            write_ctranslate2(loaded, aside, "float32", Path(folder))
    except RegardError:
        if not (place / "model.bin").is_file():  # else another process was quicker
            raise
    return place


def _fingerprint(folder: Path) -> str:
    """A hash of weights, configuration, tokenizers, and of the versions that write and read the export."""
    digest = hashlib.sha256(f"{_FORM} {version('ctranslate2')}".encode())
    for name in (WEIGHTS, CONFIG, SHARED_FILE, SOURCE_FILE, TARGET_FILE):
        path = folder / name
        if path.is_file():
            with open(path, "rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
