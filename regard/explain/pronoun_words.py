"""What a page says about a pronoun and its noun, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.explain.capture import AttentionMaps
from regard.explain.page import Note, Text, Tone
from regard.explain.reference import Case, Head, HeadChoice, Trail, clearest_head


def finding(cases: Sequence[Case], trail: Trail, tones: Mapping[str, Tone]) -> list[list[Text]]:
    """What was seen: what was written, the way from pronoun to noun, and all heads on average."""
    pronoun = cases[0][1].pronoun
    means = _means(cases, trail, tones)
    if any(step.via.casefold() != pronoun.casefold() for step in trail.steps):
        means += _pronoun_itself(pronoun, clearest_head(cases))
    way = [*_reading(cases, trail, tones), Text(" "), *_writing(cases, trail, tones)]
    return [_written(cases, tones), way, means]


def notes(trail: Trail, trial: str) -> list[Note]:
    """What the pictures do and do not show."""
    return [
        Note(
            "Attention is not proof of cause",
            "A line says where a head took information from, not that the answer hangs on it. Other heads, later "
            "layers and the paths around attention carry information too; to show cause one must change something "
            "in the model and see the answer change.",
        ),
        Note(
            "The heads were searched for",
            f"There are {trail.tried} ways to pair a head of the decoder with one of the encoder. The page opens with "
            "the pair that leads most clearly from the pronoun to the right noun, and not to the other, in both "
            "sentences: the one whose worse sentence is best. Other heads do other work; every one of them, and their "
            f"mean, is a click away. {trial}".rstrip(),
        ),
        Note(
            "Words, not tokens",
            "The model reads subwords. Here the attention to the parts of a word is added up, and that from its "
            "parts averaged, so that each row still adds up to 100\u00a0%. </s> is the end of the sentence; heads that "
            "have nothing to do often look there.",
        ),
    ]


def plain_text(paragraph: Sequence[Text]) -> str:
    """A paragraph without its colours."""
    return "".join(part.text for part in paragraph)


def last_word(maps: AttentionMaps) -> str:
    """The last word of the source that is neither a mark nor an end."""
    return next(word for word in reversed(maps.source) if word[0].isalnum())


def name(head: Head) -> str:
    """A head as one counts: `layer 2, head 3`."""
    return f"layer {head.layer + 1}, head {head.head + 1}"


def percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"


def _written(cases: Sequence[Case], tones: Mapping[str, Tone]) -> list[Text]:
    pronoun = cases[0][1].pronoun
    parts = [
        [Text(f"“{reference.written}”", tones[reference.noun]), Text(f" when the reason is “{last_word(maps)}”")]
        for maps, reference in cases
    ]
    return _listed(f"“{pronoun}” becomes ", parts)


def _reading(cases: Sequence[Case], trail: Trail, tones: Mapping[str, Tone]) -> list[Text]:
    parts = []
    for (maps, reference), step in zip(cases, trail.steps, strict=True):
        reason = last_word(maps)
        # Where the reason itself does the looking, it need not be named again.
        when = "" if step.via == reason else f" when the reason is “{reason}”"
        gives = f"“{step.via}” gives {percent(step.via_to_noun)} of its attention to "
        parts.append([Text(gives), Text(f"“{reference.noun}”", tones[reference.noun]), Text(when)])
    opening = f"While reading (encoder {name(trail.encoder)}), "
    if min(step.share.margin for step in trail.steps) <= 0:
        opening = f"No heads lead to the right noun in every sentence. In the nearest (encoder {name(trail.encoder)}), "
    return _listed(opening, parts)


def _writing(cases: Sequence[Case], trail: Trail, tones: Mapping[str, Tone]) -> list[Text]:
    parts = [
        [
            Text(f"“{reference.written}”", tones[reference.noun]),
            Text(f" gives {percent(step.pronoun_to_via)} to “{step.via}”"),
        ]
        for (_, reference), step in zip(cases, trail.steps, strict=True)
    ]
    return _listed(f"While writing (decoder {name(trail.cross)}), ", parts)


def _pronoun_itself(pronoun: str, choice: HeadChoice) -> list[Text]:
    """What the pronoun of the source does, where the trail does not lead through it."""
    worst = min(choice.shares, key=lambda share: share.margin)
    return [
        Text(
            f" “{pronoun}” itself tells the nouns apart less: in the encoder's head where it does so best "
            f"({name(choice.head)}), its worse sentence gives {percent(worst.noun)} to the right noun against "
            f"{percent(worst.other)} to the other."
        )
    ]


def _means(cases: Sequence[Case], trail: Trail, tones: Mapping[str, Tone]) -> list[Text]:
    parts = [
        [
            Text(f"{percent(step.mean.noun)} at "),
            Text(f"“{reference.noun}”", tones[reference.noun]),
            Text(f" against {percent(step.mean.other)} at “{reference.other}” (“{last_word(maps)}”)"),
        ]
        for (maps, reference), step in zip(cases, trail.steps, strict=True)
    ]
    return _listed(f"On average over all {trail.tried} pairs of heads, what arrives is ", parts)


def _listed(opening: str, parts: Sequence[Sequence[Text]]) -> list[Text]:
    """A sentence that lists its parts: one, two, and three."""
    sentence = [Text(opening)]
    for index, part in enumerate(parts):
        joint = "" if index == 0 else ", and " if index == len(parts) - 1 else ", "
        sentence += [Text(joint), *part]
    return [*sentence, Text(".")]
