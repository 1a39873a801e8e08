"""Which attention head shows a pronoun looking at its noun: found by search, with the mean beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import InputError
from regard.explain.capture import AttentionMaps


@dataclass(frozen=True)
class Reference:
    """A pronoun of the source, the noun it stands for, and another noun that it could have stood for."""

    pronoun: str
    noun: str
    other: str


@dataclass(frozen=True)
class Share:
    """How much of a pronoun's attention, from 0 to 1, goes to its noun and to the other one."""

    noun: float
    other: float

    @property
    def margin(self) -> float:
        return self.noun - self.other


@dataclass(frozen=True)
class HeadChoice:
    """One head of the encoder (layer and head count from 0), what it shows, and what all heads show on average."""

    layer: int
    head: int
    shares: tuple[Share, ...]
    mean_shares: tuple[Share, ...]
    heads: int


def clearest_head(cases: Sequence[tuple[AttentionMaps, Reference]]) -> HeadChoice:
    """The encoder head whose worst margin (attention to the right noun less that to the other) is the largest.

    The worst over all sentences, not the mean: a head that always looks at the first noun must not win.
    The maps are those of whole words.
    """
    shares = np.stack([_shares(maps, reference) for maps, reference in cases])  # [cases, 2, L, H]
    margins = (shares[:, 0] - shares[:, 1]).min(axis=0)
    layer, head = (int(index) for index in np.unravel_index(np.argmax(margins), margins.shape))
    means = shares.mean(axis=(2, 3))
    return HeadChoice(
        layer=layer,
        head=head,
        shares=tuple(Share(float(noun), float(other)) for noun, other in shares[:, :, layer, head]),
        mean_shares=tuple(Share(float(noun), float(other)) for noun, other in means),
        heads=margins.size,
    )


def _shares(maps: AttentionMaps, reference: Reference) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """[2, L, H]: the pronoun's attention to its noun, and to the other."""
    row = maps.encoder[:, :, position(maps.source, reference.pronoun)]
    return np.stack([row[..., position(maps.source, noun)] for noun in (reference.noun, reference.other)])


def position(words: Sequence[str], word: str) -> int:
    """Where a word stands in a sentence, whatever its case."""
    folded = [text.casefold() for text in words]
    if word.casefold() not in folded:
        raise InputError(f'the sentence "{" ".join(words)}" has no word "{word}" to look at')
    return folded.index(word.casefold())


def looks_at_noun(maps: AttentionMaps, head: HeadChoice, pronoun: str, noun: str) -> bool:
    """Whether the pronoun looks at its noun more than at any other word before it; the maps are of whole words."""
    place = position(maps.source, pronoun)
    before = maps.encoder[head.layer, head.head, place, :place]
    return int(before.argmax()) == position(maps.source, noun)
