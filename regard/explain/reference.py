"""How a pronoun finds its noun: the attention heads that lead from the one to the other, found by search.

The decoder looks at words of the source in order to write a pronoun (cross-attention), and these words have looked at
others while they were read (encoder self-attention). A trail is one head of each: (C E)[pronoun, noun], the product of
their weights, is the share of the pronoun's attention that arrives at the noun through both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import InputError
from regard.explain.capture import AttentionMaps
from regard.explain.words import Weights


@dataclass(frozen=True)
class Reference:
    """A pronoun of the source, what it became in the target, its noun, and another noun it could have stood for."""

    pronoun: str
    written: str
    noun: str
    other: str


@dataclass(frozen=True)
class Head:
    """One attention head; both numbers count from 0."""

    layer: int
    head: int


@dataclass(frozen=True)
class Share:
    """How much attention, from 0 to 1, goes to the right noun and to the other one."""

    noun: float
    other: float

    @property
    def margin(self) -> float:
        return self.noun - self.other


@dataclass(frozen=True)
class Step:
    """The trail in one sentence: the written pronoun looks at the word `via`, which looks at the noun."""

    via: str
    pronoun_to_via: float
    via_to_noun: float
    share: Share
    """What arrives through all words together."""
    mean: Share
    """The same for the mean of all heads in the place of one."""


@dataclass(frozen=True)
class Trail:
    """The two heads that lead most clearly from a pronoun to its noun, and how they do it in each sentence."""

    cross: Head
    encoder: Head
    steps: tuple[Step, ...]
    tried: int
    """How many pairs of heads there were to choose from."""


@dataclass(frozen=True)
class HeadChoice:
    """One head of the encoder, and what it shows in each sentence."""

    head: Head
    shares: tuple[Share, ...]


Case = tuple[AttentionMaps, Reference]
"""A sentence pair with its attention between whole words."""


def clearest_trail(cases: Sequence[Case]) -> Trail:
    """The pair of heads whose worst margin (what arrives at the right noun less what does at the other) is the largest.

    The worst over all sentences, not the mean: heads that always lead to the first noun must not win.
    """
    margins = np.stack([_through(*case).margins for case in cases]).min(axis=0)  # [L, H, L, H]
    best = [int(index) for index in np.unravel_index(np.argmax(margins), margins.shape)]
    cross, encoder = Head(*best[:2]), Head(*best[2:])
    steps = tuple(_step(case, cross, encoder) for case in cases)
    return Trail(cross, encoder, steps, margins.size)


def clearest_head(cases: Sequence[Case]) -> HeadChoice:
    """The encoder head in which the pronoun of the source itself most prefers its noun, in its worst sentence."""
    shares = np.stack([_source_shares(*case) for case in cases])  # [cases, 2, L, H]
    margins = (shares[:, 0] - shares[:, 1]).min(axis=0)
    layer, head = (int(index) for index in np.unravel_index(np.argmax(margins), margins.shape))
    return HeadChoice(Head(layer, head), tuple(Share(float(a), float(b)) for a, b in shares[:, :, layer, head]))


def follow(maps: AttentionMaps, trail: Trail, written: str) -> str:
    """Where the trail leads in another sentence: from the pronoun to the word it looks at most, and from there on."""
    via = int(maps.cross[trail.cross.layer, trail.cross.head, position(maps.target, written)].argmax())
    return maps.source[int(maps.encoder[trail.encoder.layer, trail.encoder.head, via].argmax())]


def position(words: Sequence[str], word: str) -> int:
    """Where a word stands in a sentence, whatever its case."""
    folded = [text.casefold() for text in words]
    if word.casefold() not in folded:
        raise InputError(f'the sentence "{" ".join(words)}" has no word "{word}" to look at')
    return folded.index(word.casefold())


@dataclass(frozen=True)
class _Through:
    """What arrives at either noun through each pair of heads [L, H, L, H], cross-attention's first."""

    noun: Weights
    other: Weights

    @property
    def margins(self) -> Weights:
        return self.noun - self.other


def _through(maps: AttentionMaps, reference: Reference) -> _Through:
    looked = maps.cross[:, :, position(maps.target, reference.written)]  # [L, H, S]
    arrived = [
        np.einsum("lhs,mks->lhmk", looked, maps.encoder[..., position(maps.source, noun)])
        for noun in (reference.noun, reference.other)
    ]
    return _Through(*arrived)


def _step(case: Case, cross: Head, encoder: Head) -> Step:
    maps, reference = case
    through = _through(maps, reference)
    place = (cross.layer, cross.head, encoder.layer, encoder.head)
    looked = maps.cross[cross.layer, cross.head, position(maps.target, reference.written)]
    reached = maps.encoder[encoder.layer, encoder.head, :, position(maps.source, reference.noun)]
    via = int((looked * reached).argmax())
    return Step(
        via=maps.source[via],
        pronoun_to_via=float(looked[via]),
        via_to_noun=float(reached[via]),
        share=Share(float(through.noun[place]), float(through.other[place])),
        # The product is linear in either factor, so its mean over all pairs is the product of the mean heads.
        mean=Share(float(through.noun.mean()), float(through.other.mean())),
    )


def _source_shares(maps: AttentionMaps, reference: Reference) -> Weights:
    """[2, L, H]: the attention of the source's own pronoun to its noun, and to the other."""
    row = maps.encoder[:, :, position(maps.source, reference.pronoun)]
    return np.stack([row[..., position(maps.source, noun)] for noun in (reference.noun, reference.other)])
