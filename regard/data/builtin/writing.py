"""The built-in corpus as plain files: one sentence a line, two files a part."""

from __future__ import annotations

from pathlib import Path

from regard.atomic import write_file
from regard.data.builtin.corpus import TargetLanguage, generate

PARTS = ("train", "validation", "test", "novel")
LANGUAGE_NAMES = {"fr": "French", "zh": "Chinese"}


def write_builtin(folder: Path, target_language: TargetLanguage, seed: int = 1) -> dict[str, Path]:
    """Write train, validation, test and novel (`train.en`, `train.fr`...) and README.txt; the files by their names.

    No reader ever meets half a file.
    """
    corpus = generate(target_language, seed)
    texts: dict[str, str] = {}
    for part in PARTS:
        pairs = getattr(corpus, part)
        texts[f"{part}.en"] = "".join(f"{pair.source}\n" for pair in pairs)
        texts[f"{part}.{target_language}"] = "".join(f"{pair.target}\n" for pair in pairs)
    counts = {part: len(getattr(corpus, part)) for part in PARTS}
    texts["README.txt"] = _readme(target_language, seed, counts)
    for name, text in texts.items():  # README.txt comes last: where it stands, the corpus is complete
        write_file(folder / name, text.encode())
    return {name: folder / name for name in texts}


def is_written(folder: Path, target_language: TargetLanguage, seed: int = 1) -> bool:
    """Whether a folder holds just this corpus, all of it."""
    corpus = generate(target_language, seed)
    counts = {part: len(getattr(corpus, part)) for part in PARTS}
    try:
        return (folder / "README.txt").read_text(encoding="utf-8") == _readme(target_language, seed, counts)
    except (OSError, UnicodeDecodeError):
        return False


def _readme(target_language: TargetLanguage, seed: int, counts: dict[str, int]) -> str:
    sizes = "\n".join(
        f"  {part + '.en':15} {part + '.' + target_language:15} {counts[part]:>7,} pairs" for part in PARTS
    )
    return (
        f"English-{LANGUAGE_NAMES[target_language]} sentences from regard's built-in grammar, seed {seed}.\n\n"
        f"{sizes}\n\n"
        "UTF-8, one sentence a line; line n of one file translates line n of the other.\n"
        "No sentence, source or target, is in two parts. `novel` holds combinations of two nouns, or of a noun and\n"
        "an adjective, that never stand in one sentence of `train`, though each word does.\n"
        "The text was made by a program; it is free to use under the licence of regard (Apache-2.0).\n"
    )
