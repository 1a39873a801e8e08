"""French forms: elision, contraction, plurals, and the agreement of articles, adjectives and participles."""

from __future__ import annotations

import re

from regard.data.builtin.words import Adjective, Determiner, Gender, Noun

# The h of these words forbids elision (le héros, la haie), though it is as silent as that of l'homme and l'héroïne.
ASPIRATED = frozenset(
    ("hache", "haches", "haie", "haies", "hamster", "hamsters", "harpe", "harpes", "haut", "hauts", "haute", "hautes")
) | {"hérisson", "hérissons", "héros", "hibou", "hiboux", "huit"}
VOWELS = frozenset("aeiouâàéèêëîïôœù")
# Counted things keep the full article before `onze`: le onze.
UNELIDED = ASPIRATED | {"onze"}
_FIRST_WORD = re.compile(r"[^\s'-]+")


def starts_with_vowel_sound(words: str) -> bool:
    """Whether what stands before these words is elided: true of `homme` and `âne`, false of `héros` and `onze`."""
    found = _FIRST_WORD.match(words.lower())
    if found is None or found[0] in UNELIDED:
        return False
    return found[0][0] in VOWELS or found[0][0] == "h"


def elide(little: str, words: str) -> str:
    """Put `de`, `que`, `ne`, `je`... before words: `qu'elle`, `que Paul`; `si` is elided before il and ils alone."""
    elided = words.split(" ")[0] in ("il", "ils") if little.endswith("si") else starts_with_vowel_sound(words)
    return f"{little[:-1]}'{words}" if elided else f"{little} {words}"


def contract(preposition: str, words: str) -> str:
    """Put `à` or `de` (or a phrase that ends with one) before a noun phrase: `au`, `aux`, `du`, `des`, `d'`."""
    stem, last = preposition[:-2].rstrip(), preposition[-2:].strip()
    start = f"{stem} " if stem else ""
    for article, forms in (("le ", {"à": "au", "de": "du"}), ("les ", {"à": "aux", "de": "des"})):
        if words.startswith(article):
            return f"{start}{forms[last]} {words[len(article) :]}"
    return start + (elide("de", words) if last == "de" else f"à {words}")


def plural_of(word: str) -> str:
    """The plural of a noun or a masculine adjective: chevaux, bateaux, hiboux, souris."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    if word.endswith(("au", "eu", "hibou")) and word != "bleu":
        return word + "x"
    return word + "s"


def feminine_of(masculine: str) -> str:
    """The regular feminine of an adjective: `petit` gives `petite`, `dangereux` gives `dangereuse`."""
    if masculine.endswith("e"):
        return masculine
    return masculine[:-1] + "se" if masculine.endswith("eux") else masculine + "e"


def agree(adjective: Adjective, gender: Gender, plural: bool) -> str:
    """An adjective in the form that its noun asks for."""
    form = adjective.feminine if gender == "f" else adjective.masculine
    return plural_of(form) if plural and not adjective.invariable else form


def participle(masculine: str, gender: Gender, plural: bool) -> str:
    """A past participle that agrees: parti, partie, partis, parties; mis, mise, mis, mises."""
    form = masculine + ("e" if gender == "f" else "")
    return plural_of(form) if plural else form


def noun_phrase(noun: Noun, determiner: Determiner, plural: bool, adjectives: tuple[Adjective, ...]) -> str:
    """Determiner, adjectives that precede, noun, adjectives that follow; all in agreement."""
    words = noun.french_plural if plural else noun.french
    for adjective in (one for one in adjectives if one.before):
        form = agree(adjective, noun.gender, plural)
        if noun.gender == "m" and not plural and starts_with_vowel_sound(words):
            form = adjective.vowel
        words = f"{form} {words}"
    precedes = any(one.before for one in adjectives)
    follow = "".join(f" {agree(one, noun.gender, plural)}" for one in adjectives if not one.before)
    return _with_determiner(determiner, words, noun.gender, plural, precedes) + follow


def _with_determiner(determiner: Determiner, words: str, gender: Gender, plural: bool, adjective_first: bool) -> str:
    if plural:
        article = determiner.plural
        if article == "des" and adjective_first:  # des livres, but de vieux livres
            return elide("de", words)
    elif starts_with_vowel_sound(words):
        article = determiner.feminine_vowel if gender == "f" else determiner.masculine_vowel
    else:
        article = determiner.feminine if gender == "f" else determiner.masculine
    return article + words if article.endswith("'") else f"{article} {words}"


def subject_pronoun(gender: Gender, plural: bool) -> str:
    """`il`, `elle`, `ils` or `elles`."""
    return ("elle" if gender == "f" else "il") + ("s" if plural else "")


def object_pronoun(gender: Gender, plural: bool, verb: str) -> str:
    """The clitic before its verb: `la met`, `les met`, `l'a`."""
    if plural:
        return f"les {verb}"
    return elide("la" if gender == "f" else "le", verb)


def avoir(plural: bool) -> str:
    """`a` or `ont`."""
    return "ont" if plural else "a"


def be(plural: bool) -> str:
    """`est` or `sont`."""
    return "sont" if plural else "est"
