"""The languages of the service: their names, which can be translated into which, and how one is told from another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from regard.serve.jobs import Pair
from regard.text.detection import Detector
from regard.text.languages import main_language
from regard.text.profiles import Profile

_NAMES = (
    "af Afrikaans|am Amharic|ar Arabic|as Assamese|ast Asturian|ay Aymara|az Azerbaijani|ba Bashkir|be Belarusian|"
    "bg Bulgarian|bn Bengali|bo Tibetan|br Breton|bs Bosnian|ca Catalan|ceb Cebuano|chr Cherokee|co Corsican|cs Czech|"
    "cv Chuvash|cy Welsh|da Danish|de German|dsb Lower Sorbian|dv Dhivehi|el Greek|en English|eo Esperanto|es Spanish|"
    "et Estonian|eu Basque|fa Persian|fi Finnish|fil Filipino|fo Faroese|fr French|fy Western Frisian|ga Irish|"
    "gd Scottish Gaelic|gl Galician|gn Guarani|gu Gujarati|ha Hausa|haw Hawaiian|he Hebrew|hi Hindi|hr Croatian|"
    "hsb Upper Sorbian|ht Haitian Creole|hu Hungarian|hy Armenian|id Indonesian|ig Igbo|is Icelandic|it Italian|"
    "iu Inuktitut|ja Japanese|jv Javanese|ka Georgian|kab Kabyle|kk Kazakh|km Khmer|kn Kannada|ko Korean|ku Kurdish|"
    "kw Cornish|ky Kyrgyz|la Latin|lb Luxembourgish|lo Lao|lt Lithuanian|lv Latvian|mg Malagasy|mi Maori|"
    "mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese|nb Norwegian Bokmål|"
    "nds Low German|ne Nepali|nl Dutch|nn Norwegian Nynorsk|no Norwegian|oc Occitan|or Odia|pa Punjabi|pl Polish|"
    "ps Pashto|pt Portuguese|qu Quechua|rm Romansh|ro Romanian|ru Russian|rw Kinyarwanda|sa Sanskrit|sc Sardinian|"
    "sd Sindhi|se Northern Sami|si Sinhala|sk Slovak|sl Slovenian|sm Samoan|so Somali|sq Albanian|sr Serbian|"
    "st Southern Sotho|su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|ti Tigrinya|tk Turkmen|"
    "tl Tagalog|tn Tswana|tr Turkish|tt Tatar|ug Uyghur|uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|wo Wolof|xh Xhosa|"
    "yi Yiddish|yo Yoruba|yue Cantonese|zh Chinese|zu Zulu"
)
NAMES: dict[str, str] = dict(entry.split(" ", 1) for entry in _NAMES.split("|"))
AUTO = "auto"
"""In place of a code: whatever language the text is in."""
CODE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,2}")


def language_name(code: str) -> str:
    """The English name of a language; the code where we know none."""
    if code in NAMES:
        return NAMES[code]
    name = NAMES.get(main_language(code))
    return f"{name} ({code})" if name else code


class Languages:
    """What can be translated into what, and which language a text is in."""

    def __init__(self, pairs: Sequence[Pair], profiles: Mapping[str, Profile]) -> None:
        self.pairs = tuple(pairs)
        self.codes = tuple(dict.fromkeys(code for pair in pairs for code in (pair.source, pair.target)))
        self.detector = Detector(self.codes, profiles)

    def targets(self, source: str) -> list[str]:
        """What a language can be translated into."""
        return sorted(pair.target for pair in self.pairs if pair.source == source)
