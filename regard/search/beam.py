"""Beam search: the K best beginnings of every sentence of a batch, grown token by token.

A sentence has K places. Each step ranks the continuations of its live hypotheses and takes the best, as many as it
has places free. One that ends there is finished and holds its place for good, so that the search of a sentence is
over when all K have ended. It is over sooner, with the same result, when no live hypothesis can overtake the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.search.coverage import coverage_penalties
from regard.search.doubts import Doubts
from regard.search.engine import Engine, SearchState
from regard.search.following import BeamStep, Continuation, Follow
from regard.search.hypotheses import Hypothesis, NBest, Watch
from regard.search.length_penalty import length_penalty
from regard.search.rules import best_tokens, check_best, first_tokens, length_limits
from regard.search.token_rules import TokenRule, allowed_log_probabilities, in_loop


@dataclass
class _Front:
    """The sentences still searched: W rows each, one before the first step and K after it."""

    sentences: Tensor
    """[B]: which of the batch's sentences."""
    limits: Tensor
    """[B]: tokens that the output may have."""
    last_penalties: Tensor
    """[B]: the length penalty of an output as long as that, the largest of all."""
    places: Tensor
    """[B]: places that no finished hypothesis holds."""
    to_beat: Tensor
    """[B]: the score below which a hypothesis is of no use any more."""
    tokens: Tensor
    """[B * W, t]: the hypotheses, beginning mark first."""
    log_probabilities: Tensor
    """[B, W], in float64; minus infinity where a row is empty."""
    history: Tensor
    """[B * W, t]: the log-probabilities of the beginnings of each hypothesis, its own last."""
    state: SearchState

    @property
    def length(self) -> int:
        return self.tokens.size(1) - 1


@dataclass
class _Candidates:
    """The K best continuations of each sentence, best first: all [B, K]."""

    log_probabilities: Tensor
    rows: Tensor
    """The row of the front that is continued."""
    tokens: Tensor
    ranked: Tensor
    """[B, K or K + 1]: the log-probabilities, and that of the best continuation left out, where it is asked for."""


@torch.inference_mode()
def beam_search(
    engine: Engine,
    source: Tensor,
    source_mask: Tensor,
    config: SearchConfig,
    best: int = 1,
    longest: int | None = None,
    rules: Sequence[TokenRule] = (),
    doubts: Doubts | None = None,
    watch: Watch | None = None,
    follow: Follow | None = None,
) -> list[list[Hypothesis]]:
    """The `best` hypotheses for each row of `source` [B, S], best first; `source_mask` [B, S] is True on real tokens.

    A sentence's hypotheses depend on its own row only; it leaves the batch as its search ends. Its list is shorter than
    `best` only where the model has fewer outputs. No output gets more than `longest` tokens. `rules` say which tokens
    a hypothesis may take; `doubts` is told of choices that were too close to call, `watch` of every step.
    The search for one sentence alone may be followed, too: `follow` is told what came into question at every step.
    """
    check_best(best, config)
    if follow is not None and len(source) != 1:
        raise ValueError(f"the search for one sentence can be followed, not that for {len(source)}")
    found = [NBest(best) for _ in range(len(source))]
    if len(source):
        front = _first_front(engine, source, source_mask, config, longest)
        while len(front.sentences):
            logits, front.state = engine.step(front.tokens[:, -1], front.state)
            each, tokens = _next_tokens(logits, front, rules, config.beam + (doubts is not None))
            candidates = _rank(each, tokens, front.log_probabilities, config.beam, doubts is not None)
            if follow is not None:
                more = _next_tokens(logits, front, rules, 2 * config.beam)
                follow(_seen(front, candidates, _rank(*more, front.log_probabilities, 2 * config.beam, False)))
            front = _advance(front, candidates, found, config, doubts)
            if watch is not None:
                _show(front, watch)
    if doubts is not None:
        gaps = torch.tensor([hypotheses.gap() for hypotheses in found], dtype=torch.float64)
        doubts.weigh(torch.arange(len(found)), gaps)
    return [hypotheses.best() for hypotheses in found]


def _next_tokens(logits: Tensor, front: _Front, rules: Sequence[TokenRule], count: int) -> tuple[Tensor, Tensor]:
    """The likeliest next tokens of each row, of those that the rules allow: log-probabilities and numbers [R, k]."""
    if not rules:
        return best_tokens(logits, count)
    sentences = front.sentences.repeat_interleave(front.log_probabilities.size(1))
    allowed = allowed_log_probabilities(logits, front.tokens, sentences, rules)
    values, tokens = allowed.topk(min(count, allowed.size(1)), dim=1)
    return values, tokens


def _first_front(
    engine: Engine, source: Tensor, source_mask: Tensor, config: SearchConfig, longest: int | None
) -> _Front:
    size, device = len(source), source.device
    limits = length_limits(source_mask, config, longest)
    last_penalties = [length_penalty(limit, config) for limit in limits.tolist()]
    return _Front(
        sentences=torch.arange(size, device=device),
        limits=limits,
        last_penalties=torch.tensor(last_penalties, dtype=torch.float64, device=device),
        places=torch.full((size,), config.beam, device=device),
        to_beat=torch.full((size,), -math.inf, dtype=torch.float64, device=device),
        tokens=first_tokens(size, device),
        log_probabilities=torch.zeros(size, 1, dtype=torch.float64, device=device),
        history=torch.zeros(size, 1, dtype=torch.float64, device=device),
        state=engine.start(engine.encode(source, source_mask)),
    )


def _rank(each: Tensor, tokens: Tensor, log_probabilities: Tensor, beam: int, one_more: bool) -> _Candidates:
    """The best continuations, from the best next tokens of each row [B * W, k] and from what is there [B, W].

    A sentence's best K are among the best K of each of its rows; its best left out is among their best K + 1.
    """
    sentences, width = log_probabilities.shape
    each = (log_probabilities.view(-1, 1) + each).view(sentences, -1)
    ranked, order = each.topk(min(beam + one_more, each.size(1)), dim=1)
    ranked = functional.pad(ranked, (0, beam + one_more - order.size(1)), value=-math.inf)
    order = order[:, :beam]
    first_row = torch.arange(sentences, device=order.device)[:, None] * width
    rows = first_row + order // tokens.size(1)
    chosen = tokens.view(sentences, -1).gather(1, order)
    missing = beam - order.size(1)  # a vocabulary smaller than the beam
    return _Candidates(
        ranked[:, :beam],
        torch.cat([rows, first_row.expand(-1, missing)], dim=1),
        functional.pad(chosen, (0, missing)),
        ranked,
    )


def _seen(front: _Front, candidates: _Candidates, more: _Candidates) -> BeamStep:
    """The step of the only sentence, from what the search ranks and from twice as much."""
    taken = _continuations(candidates)[: int(front.places[0])]
    places = {(row, token) for row, token, _ in taken}
    others = [each for each in _continuations(more) if each[:2] not in places]
    return BeamStep(front.length + 1, taken, others[: more.tokens.size(1) - len(taken)])


def _continuations(candidates: _Candidates) -> list[Continuation]:
    columns = (candidates.rows[0].tolist(), candidates.tokens[0].tolist(), candidates.log_probabilities[0].tolist())
    return [each for each in zip(*columns, strict=True) if each[2] > -math.inf]


def _advance(
    front: _Front, candidates: _Candidates, found: list[NBest], config: SearchConfig, doubts: Doubts | None
) -> _Front:
    """Take the best candidates, put what has ended aside, and go on with the sentences that are not over."""
    length = front.length + 1
    rank = torch.arange(config.beam, device=front.places.device)
    taken = (rank < front.places[:, None]) & (candidates.log_probabilities > -math.inf)
    ended = taken & (candidates.tokens == EOS_ID)
    live = taken & ~ended
    cut_off = live & (front.limits <= length)[:, None]
    _gather(front, candidates, ended, True, found, config)
    _gather(front, candidates, cut_off, False, found, config)
    places = front.places - ended.sum(dim=1)
    log_probabilities = candidates.log_probabilities.masked_fill(~live | cut_off, -math.inf)

    # Log-probabilities only fall and the penalty only grows, so this is the most that a live one can still score; a
    # coverage penalty only takes from it.
    reachable = log_probabilities.amax(dim=1) / front.last_penalties
    if doubts is not None:
        last_in, first_out = (candidates.ranked.gather(1, at[:, None])[:, 0] for at in (front.places - 1, front.places))
        doubts.weigh(front.sentences, torch.minimum(last_in - first_out, (reachable - front.to_beat).abs()))
    staying = (reachable > front.to_beat).nonzero()[:, 0]
    rows = candidates.rows[staying].flatten()
    all_stay = len(staying) == len(front.sentences)
    state = front.state.reorder(rows) if all_stay else front.state.keep(staying, rows)
    return _Front(
        sentences=front.sentences[staying],
        limits=front.limits[staying],
        last_penalties=front.last_penalties[staying],
        places=places[staying],
        to_beat=front.to_beat[staying],
        tokens=torch.cat([front.tokens[rows], candidates.tokens[staying].view(-1, 1)], dim=1),
        log_probabilities=log_probabilities[staying],
        history=torch.cat([front.history[rows], candidates.log_probabilities[staying].view(-1, 1)], dim=1),
        state=state,
    )


def _show(front: _Front, watch: Watch) -> None:
    """Tell of the likeliest live hypothesis of each sentence."""
    sentences, width = front.log_probabilities.shape
    first_row = torch.arange(sentences, device=front.tokens.device) * width
    rows = first_row + front.log_probabilities.argmax(dim=1)
    for sentence, tokens in zip(front.sentences.tolist(), front.tokens[rows, 1:].tolist(), strict=True):
        watch(sentence, tokens)


def _gather(
    front: _Front, candidates: _Candidates, which: Tensor, finished: bool, found: list[NBest], config: SearchConfig
) -> None:
    """Put the candidates that `which` [B, K] marks among the hypotheses of their sentences."""
    places = which.nonzero()[:, 0]
    if not len(places):
        return
    rows = candidates.rows[which]
    log_probabilities = candidates.log_probabilities[which]
    tokens = torch.cat([front.tokens[rows, 1:], candidates.tokens[which][:, None]], dim=1)
    each = torch.cat([front.history[rows], log_probabilities[:, None]], dim=1).diff(dim=1)
    outputs = tokens[:, :-1] if finished else tokens
    looped = in_loop(outputs, config.max_repeats).tolist() if config.max_repeats else [False] * len(rows)
    coverage = coverage_penalties(front.state, rows, config.coverage_penalty)
    sentences = [found[sentence] for sentence in front.sentences[places].tolist()]
    penalty = length_penalty(front.length + 1, config)
    columns = (outputs.tolist(), log_probabilities.tolist(), each.tolist(), coverage, looped)
    for hypotheses, output, total, per_token, uncovered, loop in zip(sentences, *columns, strict=True):
        score = total / penalty + uncovered
        hypotheses.add(Hypothesis(output, score, total, finished and not loop, per_token, loop))
    front.to_beat[places] = front.to_beat.new_tensor([hypotheses.to_beat for hypotheses in sentences])
