"""The page of a pronoun that finds its noun: the same sentence twice, with another reason at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.explain.capture import AttentionMaps
from regard.explain.page import AttentionPage, CellBar, HeadOnPage, Note, Section, SentenceView, ShareBar, Text, Tone
from regard.explain.reference import HeadChoice, Reference, position

TONES: tuple[Tone, Tone] = ("a", "b")


@dataclass(frozen=True)
class PronounExample:
    """A sentence, its translation by the model, the attention of its words, and what its pronoun stands for."""

    source: str
    target: str
    maps: AttentionMaps
    """Of whole words."""
    reference: Reference
    target_pronoun: str | None
    """The pronoun that the model wrote, if it wrote one that can be named."""


def pronoun_page(
    cases: Sequence[PronounExample],
    choice: HeadChoice,
    languages: tuple[str, str],
    *,
    lead: str,
    facts: Sequence[tuple[str, str]] = (),
    trial: str = "",
    foot: str = "",
) -> AttentionPage:
    """The page for sentences whose pronoun means now the one noun, now the other.

    `choice` is the head to open with; `trial` says how it does on other sentences.
    """
    pronoun = cases[0].reference.pronoun
    return AttentionPage(
        title=f"Which noun does “{pronoun}” mean?",
        lead=lead,
        languages=languages,
        finding=finding(cases, choice),
        facts=facts,
        views=[_view(case, index, cases, choice) for index, case in enumerate(cases)],
        sections=[_encoder_section(cases, choice), _cross_section()],
        notes=_notes(choice, pronoun, trial),
        shares_note=(
            f"Bars: where “{pronoun}” looks in layer {choice.layer + 1}, head {choice.head + 1}. "
            f"The thin mark on each bar is the mean of all {choice.heads} heads of the encoder."
        ),
        foot=foot,
    )


def finding(cases: Sequence[PronounExample], choice: HeadChoice) -> list[list[Text]]:
    """What was seen, in plain words: what the model wrote, the clearest head, and all heads on average."""
    nouns, pronoun = _nouns(cases), cases[0].reference.pronoun
    meant = [Text(f"“{case.reference.noun}”", _tone(nouns, case.reference.noun)) for case in cases]
    reasons = [f" when the reason is “{_last_word(case)}”" for case in cases]
    written = [
        [Text(f"“{case.target_pronoun}”", noun.tone), Text(f" for {noun.text}")]
        for case, noun in zip(cases, meant, strict=True)
        if case.target_pronoun
    ]
    shares = [
        [Text(f"{_percent(share.noun)} of its attention to "), noun, Text(reason)]
        for share, noun, reason in zip(choice.shares, meant, reasons, strict=True)
    ]
    means = [
        [
            Text(f"{_percent(mean.noun)} to "),
            noun,
            Text(f" against {_percent(mean.other)} to “{case.reference.other}”{reason}"),
        ]
        for case, mean, noun, reason in zip(cases, choice.mean_shares, meant, reasons, strict=True)
    ]
    head = f"layer {choice.layer + 1}, head {choice.head + 1}"
    opening = f"In {head}, “{pronoun}” gives "
    if min(share.margin for share in choice.shares) <= 0:
        opening = f"No head prefers the right noun in every sentence. In the nearest, {head}, “{pronoun}” gives "
    paragraphs = [_joined(opening, shares), _joined(f"On average over all {choice.heads} heads, it gives ", means)]
    return ([_joined(f"For “{pronoun}” the model wrote ", written)] if written else []) + paragraphs


def _joined(opening: str, parts: Sequence[Sequence[Text]]) -> list[Text]:
    """A sentence that lists its parts: one, two, and three."""
    sentence = [Text(opening)]
    for index, part in enumerate(parts):
        joint = "" if index == 0 else ", and " if index == len(parts) - 1 else ", "
        sentence += [Text(joint), *part]
    return [*sentence, Text(".")]


def plain_text(paragraph: Sequence[Text]) -> str:
    """A paragraph without its colours."""
    return "".join(part.text for part in paragraph)


def _view(case: PronounExample, index: int, cases: Sequence[PronounExample], choice: HeadChoice) -> SentenceView:
    nouns, reference = _nouns(cases), case.reference
    meant = _tone(nouns, reference.noun)
    colours = {position(case.maps.source, noun): _tone(nouns, noun) for noun in (reference.noun, reference.other)}
    focus = position(case.maps.source, reference.pronoun)
    share, mean = choice.shares[index], choice.mean_shares[index]
    weights = {reference.noun: (share.noun, mean.noun), reference.other: (share.other, mean.other)}
    written = _target_position(case)
    return SentenceView(
        label=_label(case),
        source_text=case.source,
        target_text=case.target,
        maps=case.maps,
        source_tones={**colours, focus: meant},
        target_tones={} if written is None else {written: meant},
        line_tones=colours,
        focus=focus,
        shares=[ShareBar(noun, _tone(nouns, noun), *weights[noun]) for noun in nouns],
    )


def _encoder_section(cases: Sequence[PronounExample], choice: HeadChoice) -> Section:
    nouns, pronoun = _nouns(cases), cases[0].reference.pronoun
    bars = [
        CellBar(
            label=f"“{pronoun}” at “{case.reference.noun}” ({_last_word(case)})",
            row=position(case.maps.source, pronoun),
            column=position(case.maps.source, case.reference.noun),
            tone=_tone(nouns, case.reference.noun),
        )
        for case in cases
    ]
    return Section(
        part="encoder",
        style="lines",
        title="Reading: what each word looks at",
        text=(
            "The encoder rewrites every word in the light of the others. A line says that the word on the left looks "
            f"at the word on the right; the stronger the line, the more. “{pronoun}” is singled out: choose another "
            "word on either side, or the same one again to see all."
        ),
        choice=HeadOnPage(choice.layer, choice.head),
        bars=bars,
        picker_note=(
            "Each small picture is one head: the map of the first sentence, then of the second. The bars under it: how "
            f"much of “{pronoun}” goes to the noun it stands for, in each sentence."
        ),
    )


def _cross_section() -> Section:
    return Section(
        part="cross",
        style="heat",
        title="Writing: where the translation comes from",
        text=(
            "The decoder writes the translation from left to right. Each row is a word at the moment it is being "
            "predicted: it has not been read yet, only those before it have. The row shows which words of the source "
            "the model looks at in order to write it; each row adds up to 100 %."
        ),
        verb="is written while looking at",
        picker_note="Each small picture is one head: the map of the first sentence, then of the second.",
    )


def _notes(choice: HeadChoice, pronoun: str, trial: str) -> list[Note]:
    return [
        Note(
            "Attention is not proof of cause",
            "A line says where a head took information from, not that the answer hangs on it. Other heads, later "
            "layers and the paths around attention carry information too; to show cause one must change something "
            "in the model and see the answer change.",
        ),
        Note(
            "The head was searched for",
            f"Of the {choice.heads} heads of the encoder, the page opens with the one where “{pronoun}” most prefers "
            "the right noun to the other in both sentences: the one whose worse sentence is best. Other heads do "
            f"other work; every one of them, and their mean, is a click away. {trial}".rstrip(),
        ),
        Note(
            "Words, not tokens",
            "The model reads subwords. Here the attention to the parts of a word is added up, and that from its "
            "parts averaged, so that each row still adds up to 100 %. </s> is the end of the sentence; heads that "
            "have nothing to do often look there.",
        ),
    ]


def _nouns(cases: Sequence[PronounExample]) -> list[str]:
    """The nouns in question, in the order of the first sentence."""
    first = cases[0]
    return sorted((first.reference.noun, first.reference.other), key=lambda noun: position(first.maps.source, noun))


def _tone(nouns: Sequence[str], noun: str) -> Tone:
    return TONES[nouns.index(noun)] if noun in nouns[: len(TONES)] else ""


def _last_word(case: PronounExample) -> str:
    return next(word for word in reversed(case.maps.source) if word[0].isalpha())


def _label(case: PronounExample) -> str:
    """What tells the sentences apart: the words from the pronoun on."""
    words = case.maps.source[position(case.maps.source, case.reference.pronoun) :]
    return "… " + " ".join(word for word in words if word[0].isalnum())


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"


def _target_position(case: PronounExample) -> int | None:
    words = [word.casefold() for word in case.maps.target]
    pronoun = (case.target_pronoun or "").casefold()
    return words.index(pronoun) if pronoun in words else None
