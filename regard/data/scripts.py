"""Which script a language is written in, and whether a line of text is written in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "Latin": ((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2B8),
              (0x1D00, 0x1D25), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA722, 0xA7FF), (0xFB00, 0xFB06),
              (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)),
    "Greek": ((0x370, 0x373), (0x376, 0x377), (0x37B, 0x37D), (0x37F, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFF)),
    "Cyrillic": ((0x400, 0x52F), (0x1C80, 0x1C88), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "Armenian": ((0x531, 0x58A), (0xFB13, 0xFB17)),
    "Hebrew": ((0x591, 0x5F4), (0xFB1D, 0xFB4F)),
    "Arabic": ((0x610, 0x6FF), (0x750, 0x77F), (0x870, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
    "Syriac": ((0x700, 0x74F),),
    "Thaana": ((0x780, 0x7B1),),
    "Devanagari": ((0x900, 0x963), (0x966, 0x97F), (0xA8E0, 0xA8FF)),
    "Bengali": ((0x980, 0x9FE),),
    "Gurmukhi": ((0xA01, 0xA76),),
    "Gujarati": ((0xA81, 0xAFF),),
    "Oriya": ((0xB01, 0xB77),),
    "Tamil": ((0xB82, 0xBFA),),
    "Telugu": ((0xC00, 0xC7F),),
    "Kannada": ((0xC80, 0xCF3),),
    "Malayalam": ((0xD00, 0xD7F),),
    "Sinhala": ((0xD81, 0xDF4),),
    "Thai": ((0xE01, 0xE3A), (0xE40, 0xE5B)),
    "Lao": ((0xE81, 0xEDF),),
    "Tibetan": ((0xF00, 0xFDA),),
    "Myanmar": ((0x1000, 0x109F), (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F)),
    "Georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2D)),
    "Hangul": ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB)),
    "Ethiopic": ((0x1200, 0x139F), (0x2D80, 0x2DDE), (0xAB01, 0xAB2E)),
    "Cherokee": ((0x13A0, 0x13FD), (0xAB70, 0xABBF)),
    "Canadian": ((0x1400, 0x167F), (0x18B0, 0x18F5)),
    "Khmer": ((0x1780, 0x17F9), (0x19E0, 0x19FF)),
    "Mongolian": ((0x1800, 0x18AA),),
    "Tifinagh": ((0x2D30, 0x2D7F),),
    "Kana": ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "Bopomofo": ((0x2EA, 0x2EB), (0x3105, 0x312F), (0x31A0, 0x31BF)),
    "Han": ((0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
            (0xF900, 0xFAD9), (0x20000, 0x323AF)),
    "Yi": ((0xA000, 0xA4C6),),
}  # fmt: skip
"""The code points of each script's letters and marks, after Unicode's Scripts.txt (Kana: Hiragana and Katakana)."""

_LANGUAGES: dict[str, str] = {
    "Latin": "en de fr es it pt nl da sv no nb nn is fo fi et lv lt pl cs sk sl hr bs hu ro sq tr az uz tk eu ca gl oc "
    "br cy ga gd gv kw mt lb fy af sw zu xh st tn so ha ig yo rw ln lg mg wo id ms jv su tl fil ceb vi ht eo ia io la "
    "gn qu ay mi sm haw ku rm co sc fur ast an wa li nds hsb dsb szl se tpi crh eng deu ger fra fre spa ita por nld "
    "dut dan swe nor nob nno isl fin est lav lit pol ces cze slk slv hrv hun ron rum tur vie ind swa lat epo cat glg "
    "afr cym gle",
    "Greek": "el ell gre grc",
    "Cyrillic": "ru uk be bg mk kk ky tg tt ba cv ce os udm sah bua kv rus ukr bel bul mkd kaz kir tgk tat",
    "Armenian": "hy hye arm",
    "Hebrew": "he iw yi heb yid",
    "Arabic": "ar fa ps ur sd ug ckb arz ary ara fas per pus urd uig",
    "Syriac": "syr",
    "Thaana": "dv div",
    "Devanagari": "hi mr ne sa bho mai hin mar nep san",
    "Bengali": "bn as ben asm",
    "Gurmukhi": "pa pan",
    "Gujarati": "gu guj",
    "Oriya": "or ory ori",
    "Tamil": "ta tam",
    "Telugu": "te tel",
    "Kannada": "kn kan",
    "Malayalam": "ml mal",
    "Sinhala": "si sin",
    "Thai": "th tha",
    "Lao": "lo lao",
    "Tibetan": "bo dz bod tib",
    "Myanmar": "my shn mya bur",
    "Georgian": "ka kat geo",
    "Hangul Han": "ko kor",
    "Ethiopic": "am ti amh tir",
    "Cherokee": "chr",
    "Canadian Latin": "iu",
    "Khmer": "km khm",
    "Cyrillic Mongolian": "mn mon",
    "Tifinagh Latin": "kab zgh ber",
    "Kana Han": "ja jpn",
    "Han Bopomofo": "zh yue wuu lzh cmn nan zho chi",
    "Yi": "ii",
    "Latin Cyrillic": "sr sh srp",
}
_SCRIPT_CODES = {
    "latn": "Latin", "cyrl": "Cyrillic", "grek": "Greek", "arab": "Arabic", "hebr": "Hebrew", "deva": "Devanagari",
    "beng": "Bengali", "hans": "Han", "hant": "Han", "hani": "Han", "jpan": "Kana Han", "hang": "Hangul",
    "kore": "Hangul Han", "thai": "Thai", "armn": "Armenian", "geor": "Georgian", "guru": "Gurmukhi",
    "gujr": "Gujarati", "taml": "Tamil", "telu": "Telugu", "knda": "Kannada", "mlym": "Malayalam", "sinh": "Sinhala",
    "mymr": "Myanmar", "khmr": "Khmer", "laoo": "Lao", "tibt": "Tibetan", "ethi": "Ethiopic", "mong": "Mongolian",
    "tfng": "Tifinagh",
}  # fmt: skip
_BY_LANGUAGE = {code: scripts for scripts, codes in _LANGUAGES.items() for code in codes.split()}

_LEAST_LETTERS = 3
_LEAST_SHARE = 0.3
_WORD_SCRIPTS = {"Han": 4, "Kana": 2, "Hangul": 2}
"""A character of these scripts says as much as several letters: «Tom爱Mary。» is Chinese."""
_LATIN_STRANGER = 0.25


def scripts_of(language: str | None) -> tuple[str, ...]:
    """The scripts that a language (`en`, `zh-CN`, `sr_Latn`, `deu`) is written in; none where we do not know."""
    first, *subtags = re.split(r"[-_]", (language or "").lower())
    for subtag in subtags:
        if subtag in _SCRIPT_CODES:
            return tuple(_SCRIPT_CODES[subtag].split())
    return tuple(_BY_LANGUAGE.get(first, "").split())


def language_by_name(files: Iterable[str]) -> str | None:
    """The language that the ending of every file names (`train.en.gz`), where they agree on one that we know."""
    endings = {Path(file.removesuffix(".gz")).suffix.removeprefix(".") for file in files}
    ending = endings.pop() if len(endings) == 1 else ""
    return ending if scripts_of(ending) else None


def is_wrong_script(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether less than three tenths of a text's letters are of the scripts; digits and marks do not count."""
    if not scripts or (scripts == ("Latin",) and text.isascii()):
        return False
    right, other = _patterns(scripts)
    strangers = len(other.findall(text))
    if strangers < _LEAST_LETTERS:
        return False
    familiar = _weight(scripts) * len(right.findall(text))
    return familiar < _LEAST_SHARE * (familiar + strangers)


def share_in_scripts(text: str, scripts: tuple[str, ...]) -> float:
    """How much of a text is of the scripts, from 0 to 1; all of it where none are known, or there is no letter.

    Latin letters in another script are mostly names, and count little; in a text of Latin letters, others count whole.
    """
    if not scripts:
        return 1.0
    right, other = _patterns(scripts)
    familiar = _weight(scripts) * len(right.findall(text))
    strangers = sum(_stranger_weight(character) for character in other.findall(text))
    return familiar / (familiar + strangers) if familiar + strangers else 1.0


def letters_in_scripts(text: str, scripts: tuple[str, ...]) -> str:
    """A text with a space in place of all words of other scripts."""
    return re.sub(" +", " ", _patterns(scripts)[1].sub(" ", text)) if scripts else text


def _stranger_weight(character: str) -> float:
    script = _script(ord(character))
    return _LATIN_STRANGER if script == "Latin" else _WORD_SCRIPTS.get(script or "", 1)


def _weight(scripts: tuple[str, ...]) -> int:
    return max(_WORD_SCRIPTS.get(script, 1) for script in scripts)


def main_script(text: str) -> str:
    """The script that most of a text's letters belong to, or `no known script`."""
    counts = Counter(name for character in text if character.isalpha() for name in [_script(ord(character))] if name)
    return counts.most_common(1)[0][0] if counts else "no known script"


def _script(code: int) -> str | None:
    return next((name for name, spans in RANGES.items() for low, high in spans if low <= code <= high), None)


@cache
def _patterns(scripts: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One character of the scripts; one letter of any other."""
    inside = "".join(f"{chr(low)}-{chr(high)}" for script in scripts for low, high in RANGES[script])
    return re.compile(f"[{inside}]"), re.compile(rf"[^\W\d_{inside}]")
