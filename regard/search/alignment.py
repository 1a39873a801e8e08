"""Which words of a translation belong to which words of its source, read from the model's cross-attention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batch import Batch, collate
from regard.errors import InputError
from regard.models.contract import Memory, SequenceToSequence
from regard.progress import Task
from regard.search.batching import token_batches
from regard.search.texts import check_texts
from regard.text.languages import writes_spaces
from regard.text.units import units

if TYPE_CHECKING:
    from regard.search.translator import Translator

Weights = NDArray[np.float64]
Range = tuple[int, int]


class NoAttentionError(InputError):
    """A model that shows no attention to its source."""


@dataclass(frozen=True)
class Alignment:
    """The links of one pair: `(source word, target word)`, counted from 0, by target word."""

    links: tuple[tuple[int, int], ...]
    source: tuple[str, ...]
    target: tuple[str, ...]

    def __str__(self) -> str:
        """In the Pharaoh format: `0-0 1-2`."""
        return " ".join(f"{source}-{target}" for source, target in sorted(self.links))


class Aligner:
    """Aligns pairs of texts with one model and one of its decoder layers.

    Where no layer is given, it is the one that, on the first pairs, links target words to the most different source
    words: a layer that looks everywhere at once, or always at the end, links them all to a few. Words are parted by
    spaces, where the language has them; with `by_units` marks are parted from words, too.
    """

    def __init__(self, translator: Translator, layer: int | None = None, by_units: bool = False) -> None:
        self._translator = translator
        layers = translator.config.model.decoder_layers
        if layer is not None and not 1 <= layer <= layers:
            raise InputError(f"there is no decoder layer {layer} to align by: the model has 1 to {layers}")
        self.layer = layer
        source, target = translator.languages
        self._by_spaces = (writes_spaces(source) and not by_units, writes_spaces(target) and not by_units)

    def align(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Task | None = None, first_line: int = 1
    ) -> list[Alignment]:
        """The alignment of each pair; a pair with a blank side has no links."""
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources and {len(targets)} targets: each pair needs both")
        check_texts(sources, first_line)
        check_texts(targets, first_line)
        filled = [index for index in range(len(sources)) if sources[index].strip() and targets[index].strip()]
        weights = self._word_weights(sources, targets, filled, progress)
        if self.layer is None and weights:
            self.layer = _widest_layer(list(weights.values()))
        return [
            Alignment(
                _links(weights[index][self.layer - 1]) if index in weights and self.layer else (),
                _texts(source, self.words(source, 0)),
                _texts(target, self.words(target, 1)),
            )
            for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]

    def _word_weights(
        self, sources: Sequence[str], targets: Sequence[str], filled: list[int], progress: Task | None
    ) -> dict[int, Weights]:
        """The attention [L, target words, source words] of each pair that is not blank."""
        translator = self._translator
        room = translator.longest_source - 1
        source_ids = [ids[:room] for ids in translator.tokenizers.source.encode_batch([sources[i] for i in filled])]
        target_ids = [ids[:room] for ids in translator.tokenizers.target.encode_batch([targets[i] for i in filled])]
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(source_ids, target_ids, strict=True)]
        weights: dict[int, Weights] = {}
        known: dict[tuple[int, str], Weights] = {}

        def membership(side: int, text: str, ids: list[int]) -> Weights:
            if (side, text) not in known:
                known[side, text] = self._membership(side, text, ids)
            return known[side, text]

        with translator._evaluating():
            for batch in token_batches(lengths, translator.config.search.batch_tokens):
                some_sources, some_targets = ([ids[place] for place in batch] for ids in (source_ids, target_ids))
                attention = self._attention(some_sources, some_targets)
                for row, place in enumerate(batch):
                    index = filled[place]
                    of_tokens = attention[row, :, : len(target_ids[place]), : len(source_ids[place])]
                    source_words = membership(0, sources[index], source_ids[place])
                    target_words = membership(1, targets[index], target_ids[place])
                    shares = target_words / np.maximum(target_words.sum(axis=0), 1)
                    weights[index] = shares.T @ of_tokens @ source_words
                if progress:
                    progress.advance(len(batch))
        return weights

    @torch.inference_mode()
    def _attention(self, sources: list[list[int]], targets: list[list[int]]) -> Weights:
        """Cross-attention [B, L, T, S], the mean of a layer's heads, where row t is the prediction of token t."""
        model = self._translator.model
        batch = collate(sources, targets, range(len(sources))).to(model.device)
        recorded: dict[int, Tensor] = {}

        def record(name: str, weights: Tensor) -> None:
            part, _, layer = name.partition(".")
            if part == "cross":
                recorded[int(layer)] = weights.float().mean(dim=1).cpu()

        model.decode(batch.target_input, _encoded(model, batch), record)
        if not recorded:
            raise NoAttentionError("this model shows no cross-attention, so its translations cannot be aligned by it")
        return torch.stack([recorded[layer] for layer in sorted(recorded)], dim=1).double().numpy()

    def words(self, text: str, side: int) -> list[Range]:
        """Where the words of a source (side 0) or of a target (1) are: starts and stops."""
        if self._by_spaces[side]:
            return [found.span() for found in re.finditer(r"\S+", text)]
        return [(unit.start, unit.stop) for unit in units(text)]

    def _membership(self, side: int, text: str, ids: list[int]) -> Weights:
        """[tokens, words]: 1 where a token spells a part of a word."""
        tokenizers = self._translator.tokenizers
        tokenizer = tokenizers.target if side else tokenizers.source
        words = np.array(self.words(tokenizer.normalize(text), side)).reshape(-1, 2)
        ends = np.array(tokenizer.ends(ids))[:, None]
        start, stop = ends[:-1], ends[1:]
        first, last = words.T
        inside = (start < last) & ((first < stop) | ((start == stop) & (first <= start)))
        inside[np.isin(ids, list(tokenizer.tags.values()))] = False  # they stand before all words
        belongs: Weights = inside.astype(np.float64)
        return belongs


def _encoded(model: SequenceToSequence, batch: Batch) -> Memory:
    """The encoded sources; one that comes with several targets is encoded once."""
    places: dict[tuple[int, ...], int] = {}
    rows = [places.setdefault(tuple(row), index) for index, row in enumerate(batch.source.tolist())]
    kept = sorted(set(rows))
    memory = model.encode(batch.source[kept], batch.source_mask[kept])
    if len(kept) == len(rows):
        return memory
    return memory.select(torch.tensor([kept.index(row) for row in rows], device=batch.source.device))


def _texts(text: str, words: Sequence[Range]) -> tuple[str, ...]:
    return tuple(text[start:stop] for start, stop in words)


def _links(weights: Weights) -> tuple[tuple[int, int], ...]:
    """For each target word the source word with the most attention, from weights [target words, source words]."""
    return tuple((int(row.argmax()), target) for target, row in enumerate(weights) if row.max(initial=0.0) > 0)


def _widest_layer(weights: Sequence[Weights]) -> int:
    """The layer, counted from 1, whose links reach the most different source words."""
    layers = len(weights[0])
    reached = [sum(len({source for source, _ in _links(pair[layer])}) for pair in weights) for layer in range(layers)]
    return max(range(layers), key=lambda layer: (reached[layer], layer)) + 1
