"""The page of a pronoun that finds its noun: the same sentence twice, with another reason at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.explain.capture import AttentionMaps
from regard.explain.page import AttentionPage, CellBar, HeadOnPage, Link, Section, SentenceView, ShareBar, Tone
from regard.explain.pronoun_words import finding, last_word, notes
from regard.explain.reference import Case, Reference, Trail, position

TONES: tuple[Tone, Tone] = ("a", "b")


@dataclass(frozen=True)
class PronounExample:
    """A sentence, its translation, the attention between their whole words, and what the pronoun stands for."""

    source: str
    target: str
    maps: AttentionMaps
    reference: Reference

    @property
    def case(self) -> Case:
        return self.maps, self.reference


@dataclass(frozen=True)
class Story:
    """What stands around the pictures: a lead, figures, how the trail does on other sentences, and a foot."""

    lead: str
    figures: Sequence[tuple[str, str]] = ()
    trial: str = ""
    foot: str = ""


def pronoun_page(
    examples: Sequence[PronounExample], trail: Trail, languages: tuple[str, str], story: Story
) -> AttentionPage:
    """The page for sentences whose pronoun means now the one noun, now the other; it opens with the trail's heads."""
    cases = [example.case for example in examples]
    tones = _tones(cases)
    pronoun = examples[0].reference.pronoun
    return AttentionPage(
        title=f"Which noun does “{pronoun}” mean?",
        lead=story.lead,
        languages=languages,
        finding=finding(cases, trail, tones),
        facts=story.figures,
        views=[_view(example, index, trail, tones) for index, example in enumerate(examples)],
        sections=[_encoder_section(cases, trail, tones), _cross_section(cases, trail, tones)],
        notes=notes(trail, story.trial),
        shares_note=(
            "Bars: how much of the attention of the pronoun arrives at either noun through the two heads. "
            f"The thin mark on each bar is the mean of all {trail.tried} pairs of heads."
        ),
        foot=story.foot,
    )


def _tones(cases: Sequence[Case]) -> dict[str, Tone]:
    """The colours of the two nouns, in the order of the first sentence."""
    maps, reference = cases[0]
    nouns = sorted((reference.noun, reference.other), key=lambda noun: position(maps.source, noun))
    return dict(zip(nouns, TONES, strict=True))


def _view(example: PronounExample, index: int, trail: Trail, tones: dict[str, Tone]) -> SentenceView:
    maps, reference, step = example.maps, example.reference, trail.steps[index]
    meant = tones[reference.noun]
    nouns = {position(maps.source, noun): tone for noun, tone in tones.items()}
    via, pronoun = position(maps.source, step.via), position(maps.source, reference.pronoun)
    weights = {reference.noun: (step.share.noun, step.mean.noun), reference.other: (step.share.other, step.mean.other)}
    return SentenceView(
        label=_label(example.case),
        source_text=example.source,
        target_text=example.target,
        maps=maps,
        source_tones={pronoun: meant, via: meant, **nouns},
        target_tones={position(maps.target, reference.written): meant},
        line_tones=nouns,
        focus=via,
        chain=[
            Link(reference.written, meant, step.pronoun_to_via),
            Link(step.via, meant, step.via_to_noun),
            Link(reference.noun, meant),
        ],
        shares=[ShareBar(noun, tone, *weights[noun]) for noun, tone in tones.items()],
    )


def _encoder_section(cases: Sequence[Case], trail: Trail, tones: dict[str, Tone]) -> Section:
    bars = [
        CellBar(
            label=f"“{step.via}” at “{reference.noun}”",
            row=position(maps.source, step.via),
            column=position(maps.source, reference.noun),
            tone=tones[reference.noun],
        )
        for (maps, reference), step in zip(cases, trail.steps, strict=True)
    ]
    looking = " and ".join(dict.fromkeys(f"“{step.via}”" for step in trail.steps))
    return Section(
        part="encoder",
        style="lines",
        title="Reading: what each word looks at",
        text=(
            "The encoder rewrites every word in the light of the others. A line says that the word on the left looks "
            f"at the word on the right; the stronger the line, the more. {looking} "
            f"{'is' if ' and ' not in looking else 'are'} singled out. Choose any other word, on either side, or the "
            "same one again to see all."
        ),
        choice=HeadOnPage(trail.encoder.layer, trail.encoder.head),
        bars=bars,
        picker_note=(
            "Each small picture is one head: the map of the first sentence, then of the second. The bar under it: how "
            f"much of {looking} goes to the noun that is meant."
        ),
    )


def _cross_section(cases: Sequence[Case], trail: Trail, tones: dict[str, Tone]) -> Section:
    bars = [
        CellBar(
            label=f"“{reference.written}” at “{step.via}”",
            row=position(maps.target, reference.written),
            column=position(maps.source, step.via),
            tone=tones[reference.noun],
        )
        for (maps, reference), step in zip(cases, trail.steps, strict=True)
    ]
    return Section(
        part="cross",
        style="heat",
        title="Writing: where the translation comes from",
        text=(
            "The decoder writes the translation from left to right. Each row is a word at the moment it is being "
            "predicted: it has not been read yet, only those before it have. The row shows which words of the source "
            "the model looks at in order to write it; each row adds up to 100\u00a0%."
        ),
        choice=HeadOnPage(trail.cross.layer, trail.cross.head),
        verb="is written while looking at",
        bars=bars,
        picker_note=(
            "Each small picture is one head: the map of the first sentence, then of the second. The bar under it: how "
            f"much of the pronoun goes to {' or '.join(dict.fromkeys(f'“{step.via}”' for step in trail.steps))}."
        ),
    )


def _label(case: Case) -> str:
    """What tells the sentences apart: the words from the pronoun to the last."""
    maps, reference = case
    first, last = position(maps.source, reference.pronoun), position(maps.source, last_word(maps))
    return "… " + " ".join(maps.source[first : last + 1])
