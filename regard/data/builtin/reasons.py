"""Sentences whose `it` or `they` is explained by a reason: because it was too wide, even though it was very tired."""

from __future__ import annotations

from regard.data.builtin import french
from regard.data.builtin.adjectives import BY_NAME as ADJECTIVES
from regard.data.builtin.determiners import THE, THIS
from regard.data.builtin.phrases import BY_NAME as NOUNS
from regard.data.builtin.phrases import (
    Phrase,
    draw_adjectives,
    draw_definite,
    draw_person,
    draw_plural,
    noun_phrase,
    tagged,
)
from regard.data.builtin.scenes import PERSON_SCENES, SCENES, Scene
from regard.data.builtin.sentences import PronounCase, Sentence, sentence
from regard.data.builtin.words import Adjective, Chooser, Noun

FRENCH_CLAUSE = r"(?:parce qu'|même s'|même si )(ils|elles|il|elle)\b"
CHINESE_CLAUSE = "(?:因为|尽管)(它们|他们|她们|它|他|她)"
# Obstacles belong to nobody; other things may be ours.
UNOWNED = frozenset(("way", "height", "bar", "prey", "fragile"))


def draw_reason(chooser: Chooser) -> Sentence:
    """An animal or a thing and another: `it` may be either, and the reason decides."""
    scene = chooser.pick(SCENES)
    return _draw(chooser, scene, draw_definite(chooser, tagged(scene.actors), 1 if chooser.chance(0.4) else 0))


def draw_personal_reason(chooser: Chooser) -> Sentence:
    """Somebody and a thing: he or she is the one, it is the other, they may be either."""
    return _draw(chooser, chooser.pick(PERSON_SCENES), draw_person(chooser))


def _draw(chooser: Chooser, scene: Scene, actor: Phrase) -> Sentence:
    nouns = _objects(scene, actor)
    of_actor = chooser.chance(0.5)
    if scene.objects in UNOWNED:
        noun = chooser.pick(nouns)
        determiner = chooser.pick((THE, THE, THE, THIS))
        adjectives = draw_adjectives(chooser, noun, determiner) if chooser.chance(0.2) else ()
        what = noun_phrase(noun, determiner, draw_plural(chooser, noun, 0.25), adjectives)
    else:
        what = draw_definite(chooser, nouns, 1 if chooser.chance(0.25) else 0)
    reason = chooser.pick(scene.actor_reasons if of_actor else scene.object_reasons[what.nouns[0]])
    if _unlikely(reason, actor if of_actor else what):
        return _draw(chooser, scene, actor if not of_actor else _plain(actor))
    return reasoned(scene, actor, what, reason, although=chooser.chance(0.25))


def _objects(scene: Scene, actor: Phrase) -> tuple[Noun, ...]:
    return tuple(NOUNS[word] for word in scene.object_reasons if word not in actor.nouns)


def _unlikely(reason: Adjective, phrase: Phrase) -> bool:
    """Whether the phrase already says this or its opposite: the big box was too small."""
    return any(ADJECTIVES[word].group == reason.group for word in phrase.adjectives)


def _plain(phrase: Phrase) -> Phrase:
    return noun_phrase(NOUNS[phrase.nouns[0]], THE, phrase.plural)


def reasoned(scene: Scene, actor: Phrase, what: Phrase, reason: Adjective, although: bool = False) -> Sentence:
    """The sentence of a scene: the reason tells whether the pronoun stands for the actor or for the object."""
    owner = actor if reason in scene.actor_reasons else what
    action = scene.although if although else scene.because
    was = "were" if owner.plural else "was"
    link, degree = ("even though", "very") if although else ("because", "too")
    in_english = f"{actor.english} {action.english} {what.english} {link} {owner.english_pronoun} {was} {degree} "
    verb = action.french_plural if actor.plural else action.french
    clause = f"{owner.french_pronoun} {'étaient' if owner.plural else 'était'} {'très' if although else 'trop'}"
    in_french = f"{actor.french} {verb} {what.french} {french.elide('même si' if although else 'parce que', clause)} "
    chinese_verb = scene.chinese_by_object.get(what.nouns[0], (scene.because.chinese, scene.although.chinese))[although]
    after = (
        f"尽管{owner.chinese_pronoun}很{reason.chinese}"
        if although
        else f"因为{owner.chinese_pronoun}太{reason.chinese}了"
    )
    return sentence(
        (
            f"{in_english}{reason.english}.",
            f"{in_french}{french.agree(reason, owner.gender, owner.plural)}.",
            f"{actor.chinese}{chinese_verb}{what.chinese}，{after}。",
        ),
        (actor, what),
        (reason.english,),
        (
            _case(owner, FRENCH_CLAUSE, owner.french_pronoun),
            _case(owner, CHINESE_CLAUSE, owner.chinese_pronoun),
        ),
    )


def _case(owner: Phrase, pattern: str, right: str) -> PronounCase:
    # The last word of a noun phrase is its noun; of two names, all are meant.
    antecedent = owner.english.split()[-1] if owner.nouns else owner.english
    return PronounCase(owner.english_pronoun, antecedent, pattern, right)
