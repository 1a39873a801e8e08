"""What a language looks like: how often its short strings of letters come, learned from any text in it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise, starmap
from pathlib import Path
from typing import Any

from regard import untrusted
from regard.atomic import write_file
from regard.config import DataConfig
from regard.data.prepared import PreparedCorpus
from regard.errors import CorpusError, ModelFolderError

PROFILES = "languages.json"
ORDERS = (1, 2, 3, 4)
KEPT = 600
"""Strings of each length that a profile keeps: the most frequent."""
LARGEST_FILE = 4 * untrusted.MIB
MOST_LANGUAGES = 48
SAMPLE_PAIRS, SAMPLE_CHARACTERS = 2_000, 1_000_000
_NO_LETTERS = re.compile(r"[\W\d_]+")


def letters_of(text: str) -> str:
    """The letters of a text in lower case, with a space wherever there is something else."""
    return f" {_NO_LETTERS.sub(' ', text.lower()).strip()} "


def grams(letters: str, order: int) -> list[str]:
    """The strings of so many characters in a text of letters, in order; none is a lone space."""
    found = (letters[start : start + order] for start in range(len(letters) - order + 1))
    return [gram for gram in found if gram != " "]


@dataclass(frozen=True)
class Profile:
    """The logarithm of the share that each frequent string has among all of its length."""

    shares: Mapping[str, float]
    floors: tuple[float, ...]
    """What a string that is not kept counts as, for each length: rarer than all that are."""
    typical: float
    """The mean of `score` over the text that it was learned from."""

    @classmethod
    def learn(cls, texts: Iterable[str]) -> Profile | None:
        """The profile of some text; None where it has no letters."""
        counts: dict[int, Counter[str]] = {order: Counter() for order in ORDERS}
        sample: list[str] = []
        characters = 0
        for text in texts:
            letters = letters_of(text)
            for order in ORDERS:
                counts[order].update(grams(letters, order))
            sample.append(letters)
            characters += len(letters)
            if characters > SAMPLE_CHARACTERS:
                break
        if not any(counts[1].values()):
            return None
        shares: dict[str, float] = {}
        floors = []
        for order in ORDERS:
            total = counts[order].total()
            # By count, then by the letters: the same text gives the same profile.
            kept = sorted(counts[order].items(), key=lambda each: (-each[1], each[0]))[:KEPT]
            logs = {gram: round(math.log(count / total), 4) for gram, count in kept}
            shares |= logs
            floors.append(round(min(logs.values(), default=0.0) - math.log(10), 4))
        unfinished = cls(shares, tuple(floors), 0.0)
        measured = [unfinished.score(letters) for letters in sample[:: max(1, len(sample) // 300)]]
        return cls(shares, tuple(floors), round(math.fsum(measured) / len(measured), 4))

    def score(self, letters: str) -> float:
        """How well letters fit: the mean log-share of their strings, the same weight for each length."""
        means = []
        for order, floor in zip(ORDERS, self.floors, strict=True):
            found = grams(letters, order)
            if found:
                means.append(math.fsum(self.shares.get(gram, floor) for gram in found) / len(found))
        return math.fsum(means) / len(means) if means else 0.0

    def to_json(self) -> dict[str, Any]:
        return {"typical": self.typical, "floors": list(self.floors), "shares": dict(self.shares)}


def save_profiles(folder: Path, profiles: Mapping[str, Profile]) -> None:
    """Write `languages.json` into a model folder."""
    languages = {code: profile.to_json() for code, profile in profiles.items()}
    document = {"format": "regard-languages", "version": 1, "languages": languages}
    write_file(folder / PROFILES, (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode())


def load_profiles(folder: Path) -> dict[str, Profile]:
    """The profiles of a model folder, by language; none where it has no such file. Nothing in it is trusted."""
    path = folder / PROFILES
    if not path.exists() and not path.is_symlink():
        return {}
    document = untrusted.read_json(path, LARGEST_FILE)
    try:
        if (document.get("format"), document.get("version")) != ("regard-languages", 1):
            raise ValueError("it is not of format regard-languages, version 1")
        languages = document["languages"]
        if not isinstance(languages, dict) or len(languages) > MOST_LANGUAGES:
            raise ValueError("its languages are not as they should be")
        return {str(code)[:16]: _profile(entry) for code, entry in languages.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFolderError(
            f"{path}: damaged ({error}); remove it, and languages are told apart by their scripts alone"
        ) from None


def _profile(entry: Any) -> Profile:
    shares, floors = entry["shares"], entry["floors"]
    if not isinstance(shares, dict) or len(shares) > KEPT * len(ORDERS) or len(floors) != len(ORDERS):
        raise ValueError("a profile is not as it should be")
    numbers = [entry["typical"], *floors, *shares.values()]
    if any(type(number) not in (int, float) or not -100 <= number <= 0 for number in numbers):
        raise ValueError("a profile holds what is no logarithm of a share")
    if any(not 0 < len(gram) <= max(ORDERS) for gram in shares):
        raise ValueError("a profile holds a string that is too long")
    return Profile({gram: float(share) for gram, share in shares.items()}, tuple(map(float, floors)), entry["typical"])


def learn_profiles(prepared: PreparedCorpus, data: DataConfig) -> dict[str, Profile]:
    """Profiles of the languages of a prepared corpus, from lines all over each pair of languages."""
    ends = list(accumulate(prepared.corpus_sizes, initial=0))
    rows: dict[tuple[str, str], list[range]] = {}
    for corpus, lines in zip(data.train, starmap(range, pairwise(ends)), strict=True):
        rows.setdefault(data.pair_of(corpus), []).append(lines)
    texts: dict[str, list[str]] = {}
    for (source, target), ranges in rows.items():
        step = max(1, sum(map(len, ranges)) // SAMPLE_PAIRS)
        chosen = list(islice(chain(*ranges), 0, step * SAMPLE_PAIRS, step))
        texts.setdefault(source, []).extend(prepared.source_texts(chosen))
        texts.setdefault(target, []).extend(prepared.target_texts(chosen))
    found = {code: Profile.learn(texts[code]) for code in islice(texts, MOST_LANGUAGES)}
    return {code: profile for code, profile in found.items() if profile is not None}


def profiles_of(folder: Path, data: DataConfig) -> dict[str, Profile]:
    """What a model's languages look like: as its folder says, or from the text that it learned from, if it is there."""
    profiles = load_profiles(folder)
    if profiles:
        return profiles
    try:
        prepared = PreparedCorpus.open(folder / "prepared")
    except CorpusError:
        return {}
    return learn_profiles(prepared, data) if len(prepared.corpus_sizes) == len(data.train) else {}
