"""Tatoeba's everyday sentences: the splits of the published results, or a split of today's public archive."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from regard import progress
from regard.atomic import write_file
from regard.data.download import download
from regard.data.public_files import is_there, local_folder, read_local, sha256, write_checked, write_packed
from regard.data.public_hashes import TATOEBA
from regard.data.splits import TextPair, split_by_sentence
from regard.errors import CorpusError

HELD_OUT = 2000
"""Pairs in each of valid and test, as in the published splits; a tenth of a smaller archive."""

PARTS = ("train", "valid", "test")
_NOTICES = ("ABOUT.txt", "attribution.tsv.gz")
_LARGEST_TEXT = 1 << 29
_FEWEST_PAIRS = 10


def take_published(folder: Path) -> bool:
    """Copy the splits of the published results from REGARD_DATA, checked by sha256; False where it is not set."""
    local = local_folder(folder.name)
    if local is None:
        return False
    for name, digest in TATOEBA[folder.name].items():
        if not is_there(folder / name, digest):
            write_checked(folder / name, read_local(local / name), digest)
    for name in _NOTICES:
        if (local / name).is_file():
            write_file(folder / name, (local / name).read_bytes())
    write_file(folder / "README.txt", f"{_ORIGIN}\n{_PUBLISHED}".encode())
    return True


def has_published(folder: Path) -> bool:
    """Whether the splits of the published results are in place."""
    return all(is_there(folder / name, digest) for name, digest in TATOEBA[folder.name].items())


def download_and_split(folder: Path, language: str, url: str) -> None:
    """Fetch an archive of English and `language`, split it, and write the parts, the attribution and a README.txt."""
    files = [folder / f"{part}.{code}.gz" for part in PARTS for code in (language, "en")]
    if (folder / "README.txt").exists() and all(file.exists() for file in files):
        progress.note(f"{folder}: there already; remove the folder to download it anew")
        return
    archive = folder / url.rsplit("/", 1)[-1]
    download(url, archive)
    text = _text_in(archive, url)
    pairs = list(_pairs_of(text))
    if len(pairs) < _FEWEST_PAIRS:
        raise CorpusError(f"{url}: holds {len(pairs)} sentence pairs; its format must have changed")
    hashes = []
    for part, chosen in split_by_sentence(pairs, min(HELD_OUT, len(pairs) // 10)).items():
        for side, code in enumerate((language, "en")):
            lines = "".join(f"{pair[side]}\n" for pair in chosen).encode()
            write_packed(folder / f"{part}.{code}.gz", lines)
            hashes.append(f"{sha256(lines)}  {part}.{code} ({len(chosen):,} lines)")
    write_packed(folder / "attribution.tsv.gz", text)
    readme = _SPLIT_ANEW.format(url=url, hashes="\n".join(hashes))
    write_file(folder / "README.txt", f"{_ORIGIN}{readme}".encode())


def _text_in(archive: Path, url: str) -> bytes:
    """The text of sentence pairs in an archive: read by its name, so that nothing else in it can reach the disk."""
    name = f"{archive.stem.split('-')[0]}.txt"
    try:
        with zipfile.ZipFile(archive) as file:
            if file.getinfo(name).file_size > _LARGEST_TEXT:
                raise zipfile.BadZipFile(f"{name} in it is implausibly large")
            return file.read(name)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        reason = f"no {name} in it" if isinstance(error, KeyError) else error
        raise CorpusError(f"{url}: not the archive we know ({reason}); nothing was kept; try again later") from None
    finally:
        archive.unlink()


def _pairs_of(text: bytes) -> Iterator[TextPair]:
    """(other language, English) from lines of English, tab, the other language, tab, attribution."""
    for line in text.decode("utf-8-sig", errors="ignore").split("\n"):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) >= 2 and columns[0] and columns[1]:
            yield columns[1], columns[0]


_ORIGIN = """\
Sentence pairs of tatoeba.org, prepared for learners by manythings.org
Licence: CC-BY 2.0 FR. Where there is an attribution.tsv.gz, it names the authors of every pair.
"""
_PUBLISHED = """\
These are the splits that the figures in docs/results were measured on: every file was checked by the sha256 of its
text, which regard/data/public_hashes.py lists. No sentence of either language stands in two parts.
"""
_SPLIT_ANEW = """\
Downloaded from: {url}

The archive at that address changes over time. This is a split of the download of the day: pairs that share a sentence
are in one part, so no sentence of either language stands in two parts. It is NOT the split that the figures in
docs/results were measured on; their files have the sha256 that regard/data/public_hashes.py lists. Scores measured
here can be compared with each other, not with those.

sha256 of the text of each file:
{hashes}
"""
