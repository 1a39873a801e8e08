"""Sentences of running text: where one ends and the next begins, in English, German, French and Chinese."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache

from regard.text.languages import main_language
from regard.text.spans import SpanFinder

_TITLES = "Dr Prof St Mr Mrs Ms Mme Mlle M MM Jr Sr Hr Fr Rev Gen Col Lt Sgt Capt Gov Sen Rep Hon Pr Me Mgr"
ABBREVIATIONS: dict[str, frozenset[str]] = {
    "en": frozenset(
        f"{_TITLES} vs e.g i.e cf al No Nos fig figs vol vols pp p ch ed eds approx Inc Ltd Co Corp Mt Ave Blvd Rd "
        "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec a.m p.m U.S U.K".split()
    ),
    "de": frozenset(
        f"{_TITLES} z.B z. d.h d. u.a u. o.ä o. s.o s.u s. i.d.R v.a bzw ca Nr Nrn Str evtl ggf inkl exkl vgl Abb Bd "
        "Jh Mio Mrd Tel geb gest sog bes max min Jan Feb Aug Sept Okt Nov Dez Art Abs Kap S Aufl "
        "Hrsg Dipl Ing".split()
    ),
    "fr": frozenset(
        f"{_TITLES} p.ex ex cf av apr J.-C env éd chap fig vol no nos p pp art al janv févr avr juil sept oct nov déc "
        "boul tél N.B c.-à-d".split()
    ),
}
_ALL = frozenset().union(*ABBREVIATIONS.values())
_GERMAN_ORDINAL = re.compile(r"(?<!\d)\d{1,2}$")
_LETTER = re.compile(r"(?:^|[\s.(\-])[^\W\d_]$")
_CLOSING = "\"'”’)\\]»›」』）】"
_OPENING = "\"'“‘„‚«»‹›(\\[「『（【¿¡—–-"
_ANY_MARK = re.compile(r"[。！？]|[.!?…][^.!?…]")
"""What a text has that holds more than one sentence, or a mark that is no end; quickly looked for."""
LONGEST_WORD = 64
"""Characters before a mark that are looked at; no abbreviation is as long."""
_CLAUSES = (r"[;:；：—–]", r"[,，、]", r"\s", r"")
_SPANS = SpanFinder()


@cache
def _end_mark(language: str) -> re.Pattern[str]:
    """What may end a sentence; quotation marks close one that others open, as in „so“ and “so”.

    Whatever the text, it is found in linear time: a row of marks is tried from its beginning alone, and in one way.
    """
    closing = f"{_CLOSING}“‘«‹" if language == "de" else _CLOSING
    return re.compile(
        rf"(?P<full>(?<![。！？!?…])[。！？!?…]*[。！？]+[。！？…]*[{closing}]*)\s*"
        rf"|(?P<mark>(?<![.!?…])[.!?…]++(?:[{closing}]|[\u00a0\u202f ]»)*)(?=\s)\s+"
    )


def split_sentences(text: str, language: str = "") -> list[tuple[str, str]]:
    """The sentences of one line, each with the white space behind it; joined, they are the line again."""
    language = main_language(language)
    sentences = []
    start = 0
    for found in _end_mark(language).finditer(text) if _ANY_MARK.search(text) else ():
        if found.end() < len(text) and (found["full"] or _ends(text, found, language)):
            stop = found.end("full" if found["full"] else "mark")
            sentences.append((text[start:stop], text[stop : found.end()]))
            start = found.end()
    rest = text[start:]
    body = rest.rstrip()
    return [*sentences, (body, rest[len(body) :])] if rest else sentences


def _ends(text: str, found: re.Match[str], language: str) -> bool:
    """Whether a mark ends a sentence, seen from both sides of it."""
    following = text[found.end() :].lstrip(_OPENING.replace("\\", ""))
    if following[:1].islower():
        return False
    mark = found["mark"]
    if not mark.startswith(".") or mark.startswith("..."):
        return True
    before = text[max(0, found.start() - LONGEST_WORD) : found.start()]
    word = re.split(r"[\s(\[\"'„“«»‚‘’，。：；、！？]", before)[-1]
    if not {word, word[:1].lower() + word[1:]}.isdisjoint(ABBREVIATIONS.get(language, _ALL)):
        return False
    if _LETTER.search(before) and not (language == "en" and word == "I"):
        return False
    # "am 3. Mai": which ordinals end a sentence cannot be seen; most do not.
    return not (language == "de" and _GERMAN_ORDINAL.search(before))


def split_long(sentence: str, fits: Callable[[str], bool]) -> list[tuple[str, str]]:
    """A sentence in parts that fit, each with the white space behind it; cut at clause marks, as evenly as can be."""
    if fits(sentence):
        return [(sentence, "")]
    whole = {place for span in _SPANS.find(sentence) for place in range(span.start + 1, span.stop)}
    places = [sorted(_places(marks, sentence) - whole) for marks in _CLAUSES]
    parts: list[tuple[str, str]] = []
    ranges = [(0, len(sentence))]
    while ranges:
        start, stop = ranges.pop()
        part = sentence[start:stop]
        if stop - start < 2 or fits(part):
            parts.append((part, sentence[stop : ranges[-1][0]] if ranges else ""))
            continue
        cut = _middle_cut(start, stop, places)
        behind = cut + len(sentence[cut:stop]) - len(sentence[cut:stop].lstrip())
        ranges += [(behind, stop), (start, start + len(sentence[start:cut].rstrip()))]
    return parts


def _places(marks: str, sentence: str) -> set[int]:
    """Where a sentence may be cut, behind marks of a kind; a number such as 1,000 is not cut."""
    return {found.end() for found in re.finditer(rf"{marks}(?!\d)" if marks else "", sentence)}


def _middle_cut(start: int, stop: int, places: Sequence[Sequence[int]]) -> int:
    """Where to cut a part: at the best kind of place that is not too near an end, nearest to the middle."""
    middle, margin = (start + stop) / 2, (stop - start) / 5
    for own in places:
        first = bisect_left(own, max(start + 1, start + margin))
        nearest = bisect_left(own, middle)
        near = [own[at] for at in (nearest - 1, nearest) if first <= at < len(own) and own[at] <= stop - margin]
        if near:
            return min(near, key=lambda place: abs(place - middle))
    return int(middle)
