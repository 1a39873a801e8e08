"""Sentences to show: the animal and the street, and others of other genders; none is in the training part."""

from __future__ import annotations

from typing import Literal

from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.determiners import THE
from regard.data.builtin.phrases import BY_NAME as NOUNS
from regard.data.builtin.phrases import noun_phrase
from regard.data.builtin.reasons import reasoned
from regard.data.builtin.scenes import CARRY, CATCH, CLIMB, CROSS, FIT, Scene
from regard.data.builtin.sentences import Sentence

# A scene, its actor and its object (their French genders in the comment), and a reason for each.
_SHOWN: tuple[tuple[Scene, str, str, tuple[str, str]], ...] = (
    (CROSS, "animal", "street", ("tired", "wide")),  # m f
    (CROSS, "turtle", "bridge", ("slow", "long")),  # f m
    (CROSS, "cow", "river", ("old", "deep")),  # f f
    (CLIMB, "dog", "wall", ("fat", "high")),  # m m
    (CATCH, "panther", "rabbit", ("tired", "fast")),  # f m
    (CARRY, "donkey", "suitcase", ("lazy", "heavy")),  # m f
    (FIT, "trophy", "suitcase", ("big", "small")),  # m f
)


def _sentences() -> tuple[Sentence, ...]:
    shown = []
    for scene, actor, what, reasons in _SHOWN:
        nouns = noun_phrase(NOUNS[actor], THE), noun_phrase(NOUNS[what], THE)
        shown += [reasoned(scene, *nouns, ADJECTIVES[reason]) for reason in reasons]
    return tuple(shown)


SENTENCES = _sentences()
# Held out of training in every relation, so that the demonstration translates what the model never saw together.
HELD_OUT_PAIRS = frozenset(frozenset((actor, what)) for _, actor, what, _ in _SHOWN)
SHOWCASE: tuple[str, ...] = tuple(sentence.english for sentence in SENTENCES)


def translate_showcase(target_language: Literal["fr", "zh"]) -> tuple[str, ...]:
    """The references of SHOWCASE, in its order."""
    return tuple(sentence.french if target_language == "fr" else sentence.chinese for sentence in SENTENCES)
