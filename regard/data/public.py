"""The public corpora of the recipes, in one layout whether they come from a local folder or from the network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.atomic import write_file
from regard.data.public_files import download_text, is_there, local_folder, read_local, write_checked
from regard.data.public_hashes import MULTI30K
from regard.data.tatoeba import PARTS, download_and_split, has_published, take_published

MULTI30K_URL = "https://raw.githubusercontent.com/multi30k/dataset"
TATOEBA_URL = "https://www.manythings.org/anki"
_RAW_COMMIT = "c9be912dc05a3ebf9ae5bb5f7f58c1791cda43ab"
_TOK_COMMIT = "7bee46bc74186b4b6254603143610f730d40bf66"
# Commits, not a branch: what is downloaded cannot change (a later commit edits the English training text).


@dataclass(frozen=True)
class Brought:
    """A corpus that is in place: its folder, its files, and whether it is the very text of the published results."""

    folder: Path
    files: list[Path]
    exact: bool

    def __str__(self) -> str:
        state = "checked by sha256" if self.exact else "a split of the day's download; README.txt there says more"
        return f"{self.folder}: {len(self.files)} files, {state}"


def bring_multi30k(folder: Path = Path("data"), base_url: str = MULTI30K_URL) -> Brought:
    """Put Multi30k (task 1; en, de, fr) into `folder`/multi30k, as raw/train.en.gz, tok/train.en.gz and so on.

    They come from REGARD_DATA, if it is set, or from the authors' repository. Those in place are not fetched again.
    """
    home = folder / "multi30k"
    local = local_folder("multi30k")
    for name, digest in MULTI30K.items():
        if is_there(home / name, digest):
            continue
        if local:
            text = read_local(local / name)
        else:
            text = download_text(f"{base_url}/{_multi30k_address(name)}", home / name)
        write_checked(home / name, text, digest)
    write_file(home / "README.txt", _MULTI30K_README.encode())
    return Brought(home, [home / name for name in MULTI30K], exact=True)


def bring_tatoeba(folder: Path = Path("data"), base_url: str = TATOEBA_URL) -> list[Brought]:
    """Put tatoeba-zh-en and tatoeba-de-en into `folder`, each with train, valid and test.

    From REGARD_DATA they are the splits of the published results, checked by sha256. The public archive changes over
    time, so a download is split anew, with no sentence in two parts, and a README.txt beside it says so.
    """
    brought = []
    for language, archive in (("zh", "cmn-eng.zip"), ("de", "deu-eng.zip")):
        home = folder / f"tatoeba-{language}-en"
        if not take_published(home) and not has_published(home):
            download_and_split(home, language, f"{base_url}/{archive}")
        files = [home / f"{part}.{code}.gz" for part in PARTS for code in (language, "en")]
        brought.append(Brought(home, files, exact=has_published(home)))
    return brought


def _multi30k_address(name: str) -> str:
    """Where the repository keeps a file: raw/train.en.gz as it is, tok/train.en.gz as train.lc.norm.tok.en."""
    form, _, file = name.partition("/")
    if form == "raw":
        return f"{_RAW_COMMIT}/data/task1/raw/{file}"
    part, language, _ = file.rsplit(".", 2)
    return f"{_TOK_COMMIT}/data/task1/tok/{part}.lc.norm.tok.{language}"


_MULTI30K_README = """\
Multi30k, task 1: captions of photographs in English with their German and French translations
Origin: https://github.com/multi30k/dataset (Elliott et al. 2016; Elliott et al. 2017), for research use.
raw/: cased, untokenised. tok/: lower-cased, normalised and tokenised by its authors, the form of published results.
Every file was checked by the sha256 of its text; regard/data/public_hashes.py lists them.
"""
