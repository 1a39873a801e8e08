"""Sentences on which an exported model is compared with its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.config import Config
from regard.data.corpus import read_pairs
from regard.data.lines import read_lines
from regard.data.tokenizer import Tokenizer
from regard.errors import InputError, RegardError

SAMPLE = 200
"""Sentences compared, unless a file names its own."""

BUILT_IN = {
    "en": (
        "A man is walking along the street with his dog.",
        "Two children play football in the park.",
        "The woman in the red coat is reading a newspaper.",
        "Because it rained all night, the river was very high this morning.",
        "How many people can sit at this table?",
        "He bought 3 apples, 12 eggs and a bottle of milk.",
        "Nobody knew where the old key had been hidden.",
        "The animal didn't cross the street because it was too tired.",
        "Snow!",
        "When she opened the window, a small bird flew out of the kitchen and over the garden.",
    ),
    "de": (
        "Ein Mann geht mit seinem Hund die Straße entlang.",
        "Zwei Kinder spielen im Park Fußball.",
        "Die Frau im roten Mantel liest eine Zeitung.",
        "Weil es die ganze Nacht geregnet hat, ist der Fluss heute sehr hoch.",
        "Wie viele Leute können an diesem Tisch sitzen?",
        "Er kaufte 3 Äpfel, 12 Eier und eine Flasche Milch.",
    ),
    "fr": (
        "Un homme marche dans la rue avec son chien.",
        "Deux enfants jouent au football dans le parc.",
        "La femme au manteau rouge lit un journal.",
        "Comme il a plu toute la nuit, la rivière est très haute ce matin.",
        "Combien de personnes peuvent s'asseoir à cette table ?",
        "Il a acheté 3 pommes, 12 œufs et une bouteille de lait.",
    ),
    "zh": (
        "一个男人带着他的狗在街上走。",
        "两个孩子在公园里踢足球。",
        "穿红大衣的女人在看报纸。",
        "因为下了一夜的雨，今天早上河水很高。",
        "这张桌子能坐多少人？",
        "他买了3个苹果、12个鸡蛋和一瓶牛奶。",
    ),
}


@dataclass(frozen=True)
class Sentences:
    """Texts to translate, right translations of them where there are any, and where they come from."""

    sources: list[str]
    references: list[str] | None
    origin: str

    def only(self, numbers: Sequence[int]) -> Sentences:
        """Some of them, by number."""
        references = None if self.references is None else [self.references[number] for number in numbers]
        return Sentences([self.sources[number] for number in numbers], references, self.origin)


def choose_sentences(
    config: Config, tokenizer: Tokenizer, given: Path | None = None, references: Path | None = None
) -> Sentences:
    """The user's own, a sample of the model's validation data if it is here, or built-in ones."""
    if given is not None:
        return _given(given, references)
    if references is not None:
        raise InputError(f"{references}: references belong to sentences; name these with --sentences")
    return _validation(config) or built_in(config.data.source_language, tokenizer)


def built_in(language: str, tokenizer: Tokenizer) -> Sentences:
    """Sentences of the source language, or, if it has none here, those of all the languages that are nearest to words.

    A tokenizer that spells a text letter by letter was not made for it: such texts come last.
    """
    main = language.lower().replace("_", "-").partition("-")[0]
    texts = list(BUILT_IN[main]) if main in BUILT_IN else [text for texts in BUILT_IN.values() for text in texts]
    texts.sort(key=lambda text: len(tokenizer.encode(text)) / len(text))
    return Sentences(texts[:12], None, "built-in sentences")


def _given(path: Path, references: Path | None) -> Sentences:
    sources = list(read_lines(path))
    targets = None if references is None else list(read_lines(references))
    if targets is not None and len(targets) != len(sources):
        raise InputError(
            f"{path} has {len(sources):,} lines and {references} has {len(targets):,}: align them line by line"
        )
    filled = [index for index, text in enumerate(sources) if text.strip()]
    if not filled:
        raise InputError(f"{path}: holds no sentence to compare translations of")
    return Sentences(sources, targets, str(path)).only(filled)


def _validation(config: Config) -> Sentences | None:
    for corpus in config.data.validation:
        try:
            pairs = list(islice(read_pairs(corpus, config.data), SAMPLE))
        except (RegardError, OSError):
            continue
        if pairs:
            sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
            return Sentences(sources, targets, f"the first of {corpus.pairs or corpus.source}")
    return None
