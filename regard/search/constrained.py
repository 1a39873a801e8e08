"""Lexically constrained beam search: every output holds given terms, wherever the model finds them least unlikely.

The places of a sentence's beam are shared among banks, one for each number of constraint tokens that a hypothesis can
have: dynamic beam allocation (Post and Vilar, 2018). So hypotheses that have met much do not crowd out those that will
meet it later, at a better place, nor the other way round. A hypothesis may end only when it has met everything.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from regard.errors import RegardError
from regard.search.banks import share_places
from regard.search.constraints import ConstraintSet, Progress
from regard.search.engine import Engine
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import score_with_forced
from regard.search.rules import best_tokens, check_best, first_tokens, forbidden_tokens, length_limits
from regard.search.spellings import TokenEdges

PLACES, MOST_PLACES = 8, 32
"""The beam of a constrained search is at least so wide, and grows by as much with its constraints' tokens."""


class Abandoned(RegardError):  # noqa: N818 - no mistake
    """A search that was given up before its end."""


class _Row(NamedTuple):
    """A live hypothesis, by its last token."""

    token: int
    log_probability: float
    progress: Progress
    before: _Row | None = None
    """What it continues."""
    origin: int = 0
    """The place in the beam of that."""
    forced: float = 0.0
    """How much of its log-probability is of tokens that met constraints."""

    def ended(self, score: float, finished: bool) -> Hypothesis:
        """The whole of it, which has come to its end."""
        tokens: list[int] = []
        values: list[float] = []
        row = self
        while row.before is not None:
            tokens.append(row.token)
            values.append(row.log_probability - row.before.log_probability)
            row = row.before
        outputs = tokens[:0:-1] if finished else tokens[::-1]
        return Hypothesis(outputs, score, self.log_probability, finished, values[::-1])

    def followed_by(self, token: int, log_probability: float, progress: Progress, origin: int) -> _Row:
        """It with one more token, by which it is so likely and so far."""
        first = self
        for _ in range(progress.meeting - 1):
            first = first.before or first
        forced = self.forced + (log_probability - first.log_probability if progress.meeting else 0.0)
        return _Row(token, log_probability, progress, self, origin, forced)


class _Candidates(NamedTuple):
    """Tokens behind the live hypotheses of a sentence: all [W, C]."""

    log_probabilities: NDArray[np.float64]
    """Of the hypothesis with the token; minus infinity where it may not follow."""
    tokens: NDArray[np.int64]
    needed: NDArray[np.int64]
    """How many tokens will do then to meet all constraints."""


class _Sentence:
    """The search of one sentence."""

    def __init__(
        self, source_length: int, constraints: ConstraintSet, limit: int, best: int, longest: int | None
    ) -> None:
        self.constraints, self.limit = constraints, limit
        self.typical_length = min(source_length, limit)
        """Tokens that an output may have, about: as many as the source."""
        self.longest = sys.maxsize if longest is None else longest
        self.found = NBest(best)
        self.length = 0
        """Tokens of its rows."""
        self.rows = [_Row(BOS_ID, 0.0, constraints.start)]


def places_for(constraints: ConstraintSet, config: SearchConfig) -> int:
    """How wide the beam of a sentence is: a place for each bank, as far as that can be afforded."""
    wanted = PLACES * math.ceil((constraints.tokens + 1) / PLACES)
    return max(config.beam, min(wanted, MOST_PLACES))


@torch.inference_mode()
def constrained_search(
    engine: Engine,
    source: Tensor,
    source_mask: Tensor,
    constraints: Sequence[ConstraintSet],
    edges: TokenEdges,
    config: SearchConfig,
    best: int = 1,
    longest: int | None = None,
    still_wanted: Callable[[], bool] = lambda: True,
) -> list[list[Hypothesis]]:
    """The `best` hypotheses for each row of `source` [B, S] that meet the constraints of that row, best first.

    All rows must have the same `places_for`. An output may be longer than usual by the tokens of its constraints, but
    not longer than `longest`, into which they have to fit. Raises Abandoned once it is not `still_wanted`.
    """
    check_best(best, config)
    limits, lengths = length_limits(source_mask, config).tolist(), source_mask.sum(dim=1).tolist()
    sentences = [
        _Sentence(lengths[number], each, _limit(limits[number], each.tokens, longest), best, longest)
        for number, each in enumerate(constraints)
    ]
    found = [sentence.found for sentence in sentences]
    places = max((places_for(each, config) for each in constraints), default=1)
    in_word = torch.tensor(edges.begins_in_word, device=source.device)
    no_ending = in_word & ~torch.tensor(edges.is_ending or edges.begins_in_word, device=source.device)
    joins = torch.tensor(edges.joins or (False,) * len(edges.begins_in_word), device=source.device)
    state = engine.start(engine.encode(source, source_mask)) if sentences else None
    tokens = first_tokens(len(source), source.device)[:, 0]
    while sentences and state is not None:
        if not still_wanted():
            raise Abandoned("nobody waits for this translation any more")
        logits, state = engine.step(tokens, state)
        _extend(sentences, logits.float().log_softmax(dim=-1), (in_word, no_ending, joins), places, config)
        staying = [index for index, sentence in enumerate(sentences) if _goes_on(sentence, config)]
        width = len(logits) // len(sentences)
        rows = [
            index * width + (sentences[index].rows[place].origin if place < len(sentences[index].rows) else 0)
            for index in staying
            for place in range(places)
        ]
        if not staying:
            break
        sentences = [sentences[index] for index in staying]
        state = state.keep(torch.tensor(staying, device=source.device), torch.tensor(rows, device=source.device))
        last = [
            sentence.rows[place].token if place < len(sentence.rows) else PAD_ID
            for sentence in sentences
            for place in range(places)
        ]
        tokens = torch.tensor(last, device=source.device)
    return [hypotheses.best() for hypotheses in found]


def _limit(usual: int, needed: int, longest: int | None) -> int:
    return usual + needed if longest is None else min(usual + needed, longest)


def _extend(
    sentences: list[_Sentence],
    log_probabilities: Tensor,
    inside: tuple[Tensor, Tensor, Tensor],
    places: int,
    config: SearchConfig,
) -> None:
    """Give each sentence its next rows, from log-probabilities [B * W, V]; put what has ended aside.

    `inside` are three masks [V]: tokens that go on with a word, those of them that are more than an ending, and tokens
    that begin with a hyphen.
    """
    width = len(log_probabilities) // len(sentences)
    count = min(max(config.beam, PLACES), log_probabilities.size(1))
    allowed = _allowed(sentences, log_probabilities, inside, width)
    likeliest = best_tokens(allowed, count)[1]
    values, tokens = allowed.gather(1, likeliest).double().cpu().numpy(), likeliest.cpu().numpy()
    for index, sentence in enumerate(sentences):
        rows = slice(index * width, index * width + len(sentence.rows))
        alphabet = torch.from_numpy(sentence.constraints.alphabet).to(log_probabilities.device)
        own = log_probabilities[rows].index_select(1, alphabet).double().cpu().numpy()
        _choose(sentence, _candidates(sentence, values[rows], tokens[rows], own), places, config)


def _allowed(
    sentences: list[_Sentence], log_probabilities: Tensor, inside: tuple[Tensor, Tensor, Tensor], width: int
) -> Tensor:
    """The log-probabilities [B * W, V] without tokens that may not come next, unless they advance a constraint."""
    allowed = log_probabilities.clone()
    allowed[:, list(forbidden_tokens(allowed.size(1)))] = -math.inf
    rows = [(index * width + place, row) for index, each in enumerate(sentences) for place, row in enumerate(each.rows)]
    lacking = [place for place, row in rows if row.progress.unmet]
    allowed[lacking, EOS_ID] = -math.inf
    closed = [place for place, row in rows if row.progress.closed]
    ending = [place for place, row in rows if row.progress.ending]
    unjoined = [place for place, row in rows if row.progress.unjoined]
    for places, forbidden in zip((closed, ending, unjoined), inside, strict=True):
        if places:
            allowed[places] = allowed[places].masked_fill(forbidden, -math.inf)
    for index, sentence in enumerate(sentences):
        if sentence.constraints.reserved:
            allowed[index * width : (index + 1) * width, list(sentence.constraints.reserved)] = -math.inf
    return allowed


def _candidates(
    sentence: _Sentence, values: NDArray[np.float64], tokens: NDArray[np.int64], own: NDArray[np.float64]
) -> _Candidates:
    """What can continue rows: their likeliest tokens [W, k], and what advances them of the alphabet's [W, T]."""
    alphabet, rows = sentence.constraints.alphabet, np.arange(len(sentence.rows))[:, None]
    choices = [sentence.constraints.choices(row.progress) for row in sentence.rows]
    advances = np.array([each.advances for each in choices])
    needed = np.empty((len(choices), tokens.shape[1] + len(alphabet)), dtype=np.int64)
    needed[:, : tokens.shape[1]] = np.array([each.otherwise for each in choices])[:, None]
    needed[:, tokens.shape[1] :] = [each.needed for each in choices]
    places = np.minimum(np.searchsorted(alphabet, tokens), len(alphabet) - 1)
    row, column = np.nonzero(alphabet[places] == tokens)
    place = places[row, column]
    needed[row, column] = needed[row, tokens.shape[1] + place]
    values[row, column] = np.where(advances[row, place], -np.inf, values[row, column])  # it is among the others
    own[~advances] = -np.inf
    so_far = np.array([each.log_probability for each in sentence.rows])[:, None]
    return _Candidates(
        so_far + np.concatenate([values, own], axis=1),
        np.concatenate([tokens, alphabet[np.zeros_like(rows) + np.arange(len(alphabet))]], axis=1),
        needed,
    )


def _choose(sentence: _Sentence, candidates: _Candidates, places: int, config: SearchConfig) -> None:
    """Replace a sentence's rows by the best of their continuations, shared among banks."""
    length = sentence.length = sentence.length + 1
    possible = candidates.log_probabilities > -np.inf  # not for NaN, either
    fitting = np.flatnonzero(possible & (candidates.needed <= sentence.limit - length))
    if not len(fitting) and possible.any():
        least = int(candidates.needed[possible].min())
        fitting = np.flatnonzero(possible & (candidates.needed == least))
        sentence.limit = min(length + least, sentence.longest)
    log_probabilities = candidates.log_probabilities.ravel()[fitting]
    needed = candidates.needed.ravel()[fitting]
    chosen = fitting[share_places(log_probabilities, needed, places, sentence.constraints.tokens)]
    live = []
    for log_probability, token, origin in zip(
        candidates.log_probabilities.ravel()[chosen].tolist(),
        candidates.tokens.ravel()[chosen].tolist(),
        (chosen // candidates.tokens.shape[1]).tolist(),
        strict=True,
    ):
        before = sentence.rows[origin]
        finished = token == EOS_ID
        advance = sentence.constraints.advance
        progress = replace(before.progress, meeting=0) if finished else advance(before.progress, token)
        row = before.followed_by(token, log_probability, progress, origin)
        if finished or (length >= sentence.limit and (not progress.needed or length >= sentence.longest)):
            sentence.found.add(row.ended(_score(sentence, row, length, config), finished))
        else:
            live.append(row)
    sentence.rows = live


def _score(sentence: _Sentence, row: _Row, length: int, config: SearchConfig) -> float:
    return score_with_forced(row.log_probability, row.forced, length, sentence.typical_length, config)


def _goes_on(sentence: _Sentence, config: SearchConfig) -> bool:
    """Whether a live row can still become one of the best: a log-probability only falls, the penalty only grows."""
    if not sentence.rows:
        return False
    reachable = max(_score(sentence, row, sentence.limit, config) for row in sentence.rows)
    return reachable > sentence.found.to_beat
