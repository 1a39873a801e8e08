"""Which language a text is written in, among those that somebody translates: by its letters and by its script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regard.data.scripts import letters_in_scripts, scripts_of, share_in_scripts
from regard.text.profiles import Profile, letters_of

LONGEST = 4000
"""Letters of a text that are looked at."""
STRANGER = 1.5
"""By how much the mean log-share of a text in another language falls short of what is typical."""
SHARPNESS = 0.5
"""Of the evidence of a letter how much counts: strings that overlap say much of it twice."""
ENOUGH = 60
"""Letters after which more of them say no more."""
LEAST_SHARE = 0.5
"""So much of a text must be of a language's script."""
NEARLY = 0.05
"""Languages whose scripts fit a text less well than the best by more than this are out of the question."""


@dataclass(frozen=True)
class Detection:
    """A language, and the chance from 0 to 1 that a text is written in it."""

    language: str
    confidence: float


class Detector:
    """Tells some languages apart; those without a profile by their script alone, with little confidence."""

    def __init__(self, languages: Iterable[str], profiles: Mapping[str, Profile]) -> None:
        self.languages = tuple(dict.fromkeys(languages))
        self.profiles = {code: profiles[code] for code in self.languages if code in profiles}

    def detect(self, text: str) -> list[Detection]:
        """The languages that the text may be in, likeliest first; all with no confidence where it has no letters.

        Besides them stands the language that is none of them: what it gets is nobody's confidence.
        """
        letters = letters_of(text)[:LONGEST]
        count = len(letters.replace(" ", ""))
        fitting = {code: share_in_scripts(letters, scripts_of(code)) for code in self.languages}
        least = max(LEAST_SHARE, max(fitting.values(), default=0.0) - NEARLY)
        possible = [code for code in self.languages if fitting[code] >= least]
        if not count or not possible:
            return [Detection(code, 0.0) for code in self.languages]
        known = {
            code: self.profiles[code].score(letters_in_scripts(letters, scripts_of(code)))
            for code in possible
            if code in self.profiles
        }
        unknown = self.profiles[max(known, key=known.__getitem__)].typical - STRANGER if known else 0.0
        scores = {code: known.get(code, unknown) for code in possible}
        weight = SHARPNESS * min(count, ENOUGH)
        highest = max([unknown, *scores.values()])
        shares = {code: math.exp(weight * (score - highest)) * fitting[code] for code, score in scores.items()}
        total = math.fsum(shares.values()) + math.exp(weight * (unknown - highest))
        found = [Detection(code, shares[code] / total) for code in possible]
        return sorted(found, key=lambda each: -each.confidence)

    def detect_together(self, texts: Iterable[str]) -> list[Detection]:
        """The one language of several texts: each counts by its length."""
        sums = dict.fromkeys(self.languages, 0.0)
        total = 0
        for text in texts:
            total += len(text)
            for found in self.detect(text):
                sums[found.language] += found.confidence * len(text)
        together = [Detection(code, sums[code] / max(1, total)) for code in self.languages]
        return sorted(together, key=lambda each: -each.confidence)
