"""BPE-dropout (Provilkov et al., 2020): merges left out at random, so that training sees many spellings of a word."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import FIRST_BYTE_ID, FIRST_LEARNED_ID
from regard.errors import ConfigError

MOST_DRAWS = 16
"""Spellings drawn for one chunk in one call: a more frequent chunk shares them out among its occurrences."""

_CACHED_CHUNKS = 200_000


class SubwordDropout:
    """Encodes as the tokenizer does, but each merge is passed over with a probability, at each step anew.

    The library has the same, but draws from a generator that cannot be seeded: a run could not be repeated.
    """

    def __init__(self, tokenizer: Tokenizer, probability: float) -> None:
        if tokenizer.kind != "bpe":
            raise ConfigError(f'`tokenizer.dropout` works for kind "bpe", not "{tokenizer.kind}".')
        if not 0 <= probability < 1:
            raise ConfigError(f"`tokenizer.dropout` must be at least 0 and less than 1, not {probability}.")
        self._tokenizer = tokenizer
        self._probability = probability
        ids = {piece: index for index, piece in enumerate(tokenizer.learned.pieces)}
        self._characters = {
            piece: ids[piece] for piece in tokenizer.learned.pieces[FIRST_LEARNED_ID:] if len(piece) == 1
        }
        self._merges = {
            (ids[left], ids[right]): (rank, ids[left + right])
            for rank, (left, right) in enumerate(tokenizer.learned.merges)
        }
        self._cache: dict[str, list[list[int]]] = {}

    def encode_batch(self, texts: Sequence[str], seed: tuple[int, ...]) -> list[list[int]]:
        """The ids of each text: a function of the texts and the seed alone.

        Text is cut at its spaces, which no token crosses. A chunk that occurs n times gets min(n, 16) spellings.
        """
        chunked = [self._tokenizer.prepare(text).split(" ")[1:] for text in texts]
        counts = Counter(chunk for chunks in chunked for chunk in chunks)
        draw = random.Random(repr([int(part) for part in seed])).random
        spellings = {
            chunk: [self._spell(chunk, draw) for _ in range(min(count, MOST_DRAWS))] for chunk, count in counts.items()
        }
        rows: list[list[int]] = []
        for chunks in chunked:
            row: list[int] = []
            for chunk in chunks:
                choices = spellings[chunk]
                row += choices[int(draw() * len(choices))] if len(choices) == MOST_DRAWS else choices.pop()
            rows.append(row)
        return rows

    def _spell(self, chunk: str, draw: Callable[[], float]) -> list[int]:
        """One spelling of a chunk and the space before it."""
        spelling: list[int] = []
        for symbols in self._words(chunk):
            spelling += self._merge(symbols, draw)
        return spelling

    def _words(self, chunk: str) -> list[list[int]]:
        """The words of a chunk, in characters where the vocabulary has them, in bytes where not."""
        if chunk not in self._cache:
            if len(self._cache) >= _CACHED_CHUNKS:
                self._cache.clear()
            words = self._tokenizer.pipeline.pre_tokenizer.pre_tokenize_str(" " + chunk)
            self._cache[chunk] = [self._symbols(word) for word, _ in words]
        return self._cache[chunk]

    def _symbols(self, word: str) -> list[int]:
        symbols: list[int] = []
        for character in word:
            known = self._characters.get(character)
            if known is None:
                symbols += [FIRST_BYTE_ID + byte for byte in character.encode("utf-8")]
            else:
                symbols.append(known)
        return symbols

    def _merge(self, word: list[int], draw: Callable[[], float]) -> list[int]:
        """Apply the merges of a word, the first learned before the others; stop when every one left is passed over.

        The symbols form a linked list: `after[i]` is the place of the symbol behind place i, and a symbol that was
        merged into the one before it is -1. A queued merge is stale when its two symbols are no longer there.
        """
        merges, probability = self._merges, self._probability
        symbols, end = word.copy(), len(word)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))
        queue = [(*merges[pair], place, pair) for place, pair in enumerate(pairwise(symbols)) if pair in merges]
        heapify(queue)
        passed_over = []
        while queue:
            merge = heappop(queue)
            _, merged, place, pair = merge
            behind = after[place]
            if behind >= end or symbols[place] != pair[0] or symbols[behind] != pair[1]:
                continue
            if draw() < probability:
                passed_over.append(merge)
                continue
            symbols[place], symbols[behind] = merged, -1
            after[place] = next_place = after[behind]
            if next_place < end:
                before[next_place] = place
                new = (merged, symbols[next_place])
                if new in merges:
                    heappush(queue, (*merges[new], place, new))
            if before[place] >= 0:
                new = (symbols[before[place]], merged)
                if new in merges:
                    heappush(queue, (*merges[new], before[place], new))
            while passed_over:
                heappush(queue, passed_over.pop())
        return [symbol for symbol in symbols if symbol >= 0]
