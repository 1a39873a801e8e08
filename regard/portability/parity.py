"""The parity report: does a model say the same in another engine? An export that fails it is not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from regard.config import Config
from regard.errors import RegardError
from regard.evaluate.metrics import available_tokenize, bleu
from regard.portability.sentences import Sentences


class ParityError(RegardError):
    """A model that says something else in another engine; the report is in `report`."""

    def __init__(self, message: str, report: Parity) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class Bound:
    """What has to hold: differences that nobody can notice; or, with larger ones, translations that are the same."""

    identical: float
    """Percentage of sentences."""
    small: float | None
    """A difference of logits or log-probabilities within which the model is the same, whatever the sentences say."""
    large: float | None
    """A difference that is a mistake, whatever the sentences say: a model that says little may say it by chance."""
    bleu: float | None = None
    """At the least, the one's translations measured against the other's, where they need not be identical."""

    def holds(self, identical: float, difference: float | None, bleu: float) -> bool:
        if self.small is not None and difference is not None and difference <= self.small:
            return True
        if self.large is not None and difference is not None and not difference <= self.large:
            return False
        return identical >= self.identical or (self.bleu is not None and bleu >= self.bleu)

    def __str__(self) -> str:
        wanted = f"{self.identical:g} % of sentences identical"
        if self.bleu is not None:
            wanted = f"{wanted} or a BLEU of {self.bleu:g} against each other"
        if self.large is not None:
            wanted = f"{wanted} and differences within {self.large:g}"
        return wanted if self.small is None else f"{wanted}, or differences within {self.small:g}"


FLOAT32 = Bound(identical=99.5, small=1e-3, large=0.05)
INT8 = Bound(identical=99.5, small=None, large=None, bleu=70.0)
"""Rounding to 8 bits changes words here and there; a mistake in the export leaves nothing alike."""


@dataclass(frozen=True)
class Outputs:
    """What both engines say to the same sentences, greedily, and the tokens that each has read, without marks."""

    ours: Sequence[Sequence[int]]
    theirs: Sequence[Sequence[int]]
    our_texts: Sequence[str]
    their_texts: Sequence[str]
    our_sources: Sequence[Sequence[int]]
    their_sources: Sequence[Sequence[int]]
    difference: float | None = None
    """The largest difference of two logits (or log-probabilities) of the same token after the same beginning."""
    measured: str = "logits"


@dataclass(frozen=True)
class Cuts:
    """Sentences that the other side's tokenizer cuts into other tokens than ours, which no logits tell of."""

    otherwise: int = 0
    first: str | None = None
    """The first of them; of those that are translated otherwise, too, if there are any."""
    hold: bool = True
    """Whether all of them are translated identically all the same."""

    @classmethod
    def of(cls, outputs: Outputs, texts: Sequence[str]) -> Cuts:
        sources = zip(outputs.our_sources, outputs.their_sources, strict=True)
        otherwise = [number for number, (ours, theirs) in enumerate(sources) if list(ours) != list(theirs)]
        wrong = [number for number in otherwise if list(outputs.ours[number]) != list(outputs.theirs[number])]
        first = next((texts[number] for number in [*wrong, *otherwise]), None)
        return cls(len(otherwise), first, not wrong)


@dataclass(frozen=True)
class Parity:
    """A comparison of the original with what was made of it."""

    what: str
    sentences: int
    origin: str
    identical: float
    token_agreement: float
    difference: float | None
    measured: str
    bleu_against_original: float
    bleu_original: float | None
    bleu_exported: float | None
    bound: Bound
    notes: tuple[str, ...] = field(default=())
    cuts: Cuts = field(default=Cuts())

    @property
    def holds(self) -> bool:
        return self.cuts.hold and self.bound.holds(self.identical, self.difference, self.bleu_against_original)

    def to_text(self) -> str:
        rows = [
            ("sentences", f"{self.sentences:,} ({self.origin})"),
            ("cut into the same tokens", f"{self.sentences - self.cuts.otherwise:,} of {self.sentences:,}"),
            *([("first that is not", _shortened(self.cuts.first))] if self.cuts.first is not None else []),
            ("identical translations", f"{self.identical:.2f} %"),
            ("token agreement", f"{self.token_agreement:.2f} %"),
            (
                f"largest difference of {self.measured}",
                "unknown" if self.difference is None else f"{self.difference:.2e}",
            ),
            ("BLEU against the original", f"{self.bleu_against_original:.2f}"),
        ]
        if self.bleu_original is not None and self.bleu_exported is not None:
            change = round(self.bleu_exported, 2) - round(self.bleu_original, 2)
            rows.append(
                (
                    "BLEU against references",
                    f"{self.bleu_exported:.2f}, original {self.bleu_original:.2f} ({change:+.2f})",
                )
            )
        rows.append(("parity", f"{'holds' if self.holds else 'DOES NOT HOLD'}: wanted {self._wanted()}"))
        width = max(len(name) for name, _ in rows)
        lines = [f"{self.what}, compared with the original by greedy search", ""]
        lines += [f"  {name:<{width}}  {value}" for name, value in rows]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _wanted(self) -> str:
        if not self.cuts.otherwise:
            return str(self.bound)
        return f"{self.bound}; and all that is cut into other tokens translated identically"

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "sentences": self.sentences,
            "origin": self.origin,
            "cut_alike": self.sentences - self.cuts.otherwise,
            "first_cut_otherwise": self.cuts.first,
            "identical_percent": self.identical,
            "token_agreement_percent": self.token_agreement,
            "largest_difference": self.difference,
            "measured": self.measured,
            "bleu_against_original": self.bleu_against_original,
            "bleu_original": self.bleu_original,
            "bleu_exported": self.bleu_exported,
            "bound": self.bound,
            "holds": self.holds,
            "notes": self.notes,
        }


def measure(
    what: str,
    outputs: Outputs,
    config: Config,
    sentences: Sentences,
    bound: Bound,
    notes: Sequence[str] = (),
) -> Parity:
    """Put two engines' outputs side by side."""
    tokenize, references = available_tokenize(config.data.target_language), sentences.references

    def score(texts: Sequence[str], right: Sequence[str]) -> float:
        return bleu(list(texts), list(right), tokenize=tokenize).value

    same = sum(list(ours) == list(theirs) for ours, theirs in zip(outputs.ours, outputs.theirs, strict=True))
    alike = list(outputs.our_texts) == list(outputs.their_texts)
    return Parity(
        what=what,
        sentences=len(outputs.ours),
        origin=sentences.origin,
        identical=100.0 * same / len(outputs.ours),
        token_agreement=token_agreement(outputs.ours, outputs.theirs),
        difference=outputs.difference,
        measured=outputs.measured,
        bleu_against_original=100.0 if alike else score(outputs.their_texts, outputs.our_texts),
        bleu_original=score(outputs.our_texts, references) if references else None,
        bleu_exported=score(outputs.their_texts, references) if references else None,
        bound=bound,
        notes=tuple(notes),
        cuts=Cuts.of(outputs, sentences.sources),
    )


def require(parity: Parity) -> None:
    """Refuse what does not say the same."""
    if not parity.holds:
        raise ParityError(
            f"{parity.what}: says something else than the original, so it is not kept{_remedy(parity)}\n"
            f"{parity.to_text()}",
            parity,
        )


def _remedy(parity: Parity) -> str:
    if parity.cuts.hold:
        return ""
    return "; its tokenizer is at fault: if texts will never be like the first below, name others with --sentences"


def _shortened(text: str, longest: int = 100) -> str:
    return repr(text if len(text) <= longest else f"{text[:longest]}…")


def token_agreement(ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> float:
    """The percentage of places, of the longer of two outputs, that hold the same token."""
    places = agreeing = 0
    for one, other in zip(ours, theirs, strict=True):
        places += max(len(one), len(other))
        agreeing += sum(left == right for left, right in zip_longest(one, other))
    return 100.0 * agreeing / places if places else 100.0
