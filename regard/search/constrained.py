"""Lexically constrained beam search: every output holds given terms, wherever the model finds them least unlikely.

The places of a sentence's beam are shared among banks, one for each number of constraint tokens that a hypothesis can
have: dynamic beam allocation (Post and Vilar, 2018). So hypotheses that have met much do not crowd out those that will
meet it later, at a better place, nor the other way round. A hypothesis may end only when it has met everything.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID, PAD_ID
from regard.errors import RegardError
from regard.search.constraints import ConstraintSet, Progress, TokenEdges
from regard.search.engine import Engine
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import length_penalty
from regard.search.rules import check_best, first_tokens, forbidden_tokens, length_limits

PLACES, MOST_PLACES = 8, 32
"""The beam of a constrained search is at least so wide, and grows by as much with its constraints' tokens."""


class Abandoned(RegardError):  # noqa: N818 - no mistake
    """A search that was given up before its end."""


class _Row(NamedTuple):
    """A live hypothesis."""

    tokens: tuple[int, ...]
    log_probability: float
    progress: Progress
    origin: int = 0
    """The place in the beam of what it continues."""
    values: tuple[float, ...] = ()
    """The log-probability of each token."""


class Continuation(NamedTuple):
    """A token behind a live hypothesis."""

    log_probability: float
    token: int
    origin: int
    """The place in the beam of the hypothesis."""
    progress: Progress


class _Sentence:
    """The search of one sentence."""

    def __init__(self, number: int, constraints: ConstraintSet, limit: int, best: int, longest: int | None) -> None:
        self.number, self.constraints, self.limit = number, constraints, limit
        self.longest = sys.maxsize if longest is None else longest
        self.found = NBest(best)
        self.rows = [_Row((), 0.0, constraints.start)]


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
    limits = length_limits(source_mask, config).tolist()
    sentences = [
        _Sentence(number, each, _limit(limits[number], each.tokens, longest), best, longest)
        for number, each in enumerate(constraints)
    ]
    found = [sentence.found for sentence in sentences]
    places = max((places_for(each, config) for each in constraints), default=1)
    in_word = torch.tensor(edges.begins_in_word, device=source.device)
    no_ending = in_word & ~torch.tensor(edges.is_ending or edges.begins_in_word, device=source.device)
    state = engine.start(engine.encode(source, source_mask)) if sentences else None
    tokens = first_tokens(len(source), source.device)[:, 0]
    while sentences and state is not None:
        if not still_wanted():
            raise Abandoned("nobody waits for this translation any more")
        logits, state = engine.step(tokens, state)
        _extend(sentences, logits.float().log_softmax(dim=-1), (in_word, no_ending), places, config)
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
            sentence.rows[place].tokens[-1] if place < len(sentence.rows) else PAD_ID
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
    inside: tuple[Tensor, Tensor],
    places: int,
    config: SearchConfig,
) -> None:
    """Give each sentence its next rows, from log-probabilities [B * W, V]; put what has ended aside.

    `inside` are two masks [V]: tokens that go on with a word, and those of them that are more than an ending.
    """
    width = len(log_probabilities) // len(sentences)
    count = min(max(config.beam, PLACES), log_probabilities.size(1))
    likeliest = _allowed(sentences, log_probabilities, inside, width).topk(count)
    values, tokens = likeliest.values.tolist(), likeliest.indices.tolist()
    wanted = [
        (index * width + place, token)
        for index, sentence in enumerate(sentences)
        for place, row in enumerate(sentence.rows)
        for token in sorted(sentence.constraints.advancing(row.progress))
    ]
    at = torch.tensor(wanted, dtype=torch.long, device=log_probabilities.device).view(-1, 2)
    for (place, token), value in zip(wanted, log_probabilities[at[:, 0], at[:, 1]].tolist(), strict=True):
        values[place].append(value)
        tokens[place].append(token)
    for index, sentence in enumerate(sentences):
        first = index * width
        _choose(sentence, values[first : first + width], tokens[first : first + width], places, config)


def _allowed(
    sentences: list[_Sentence], log_probabilities: Tensor, inside: tuple[Tensor, Tensor], width: int
) -> Tensor:
    """The log-probabilities [B * W, V] without tokens that may not come next, unless they advance a constraint."""
    allowed = log_probabilities.clone()
    allowed[:, list(forbidden_tokens(allowed.size(1)))] = -math.inf
    rows = [(index * width + place, row) for index, each in enumerate(sentences) for place, row in enumerate(each.rows)]
    lacking = [place for place, row in rows if row.progress.unmet]
    allowed[lacking, EOS_ID] = -math.inf
    closed = [place for place, row in rows if row.progress.closed]
    ending = [place for place, row in rows if row.progress.ending]
    for places, forbidden in zip((closed, ending), inside, strict=True):
        if places:
            allowed[places] = allowed[places].masked_fill(forbidden, -math.inf)
    for index, sentence in enumerate(sentences):
        if sentence.constraints.reserved:
            allowed[index * width : (index + 1) * width, list(sentence.constraints.reserved)] = -math.inf
    return allowed


def _choose(
    sentence: _Sentence, values: list[list[float]], tokens: list[list[int]], places: int, config: SearchConfig
) -> None:
    """Replace a sentence's rows by the best of their continuations, shared among banks."""
    continuations = []
    for origin, row in enumerate(sentence.rows):
        for token, value in dict(zip(tokens[origin], values[origin], strict=True)).items():
            if value > -math.inf:  # not for NaN, either
                progress = row.progress if token == EOS_ID else sentence.constraints.advance(row.progress, token)
                continuations.append(Continuation(row.log_probability + value, token, origin, progress))
    length = len(sentence.rows[0].tokens) + 1
    fitting = [each for each in continuations if each.progress.needed <= sentence.limit - length]
    if not fitting and continuations:
        least = min(each.progress.needed for each in continuations)
        fitting = [each for each in continuations if each.progress.needed == least]
        sentence.limit = min(length + least, sentence.longest)
    penalty = length_penalty(length, config)
    live = []
    for log_probability, token, origin, progress in share_places(fitting, places, sentence.constraints.tokens):
        row = sentence.rows[origin]
        own_values = (*row.values, log_probability - row.log_probability)
        score = log_probability / penalty
        if token == EOS_ID:
            sentence.found.add(Hypothesis(list(row.tokens), score, log_probability, True, list(own_values)))
        elif length >= sentence.limit and (not progress.needed or length >= sentence.longest):
            sentence.found.add(Hypothesis([*row.tokens, token], score, log_probability, False, list(own_values)))
        else:
            live.append(_Row((*row.tokens, token), log_probability, progress, origin, own_values))
    sentence.rows = live


def share_places(rows: Sequence[Continuation], places: int, most: int) -> list[Continuation]:
    """The rows that get a place, best first in each bank; a bank holds the rows that need equally many tokens.

    The bank that needs the fewest always has a place, so that the constraints are met in the end. Then each bank has
    its equal share of the places, the one with the likeliest row first; the likeliest rows of all get what is left.
    """
    ranked = sorted(rows, key=lambda row: -row.log_probability)
    banks: dict[int, list[Continuation]] = {}
    for row in ranked:
        banks.setdefault(row.progress.needed, []).append(row)
    share = max(1, places // (most + 1))
    chosen: list[Continuation] = []
    foremost = min(banks, default=0)
    for bank in sorted(banks, key=lambda bank: (bank != foremost, -banks[bank][0].log_probability)):
        chosen += banks[bank][: min(share, places - len(chosen))]
    taken = {id(row) for row in chosen}
    return chosen + [row for row in ranked if id(row) not in taken][: places - len(chosen)]


def _goes_on(sentence: _Sentence, config: SearchConfig) -> bool:
    """Whether a live row can still become one of the best: a log-probability only falls, the penalty only grows."""
    if not sentence.rows:
        return False
    reachable = max(row.log_probability for row in sentence.rows) / length_penalty(sentence.limit, config)
    return reachable > sentence.found.to_beat
