"""A corpus that needs no download: a small hand-written grammar of English with its French and its Chinese."""

from regard.data.builtin.corpus import BuiltinCorpus, BuiltinPair, TargetLanguage, generate, pronoun_is_right
from regard.data.builtin.sentences import PronounCase
from regard.data.builtin.showcase import SHOWCASE, translate_showcase
from regard.data.builtin.writing import write_builtin

__all__ = [
    "SHOWCASE",
    "BuiltinCorpus",
    "BuiltinPair",
    "PronounCase",
    "TargetLanguage",
    "generate",
    "pronoun_is_right",
    "translate_showcase",
    "write_builtin",
]
