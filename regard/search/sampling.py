"""Sampling: each next token drawn by chance, with the probabilities that the model gives, perhaps narrowed.

Chance follows from a seed, from the source sentence itself, and from the number of the sample, never from the batch:
the same seed gives the same outputs whatever a sentence is translated with, and the same first samples if more are
drawn.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.search.coverage import coverage_penalties
from regard.search.doubts import CLOSE, CLOSE_SHARE, Doubts
from regard.search.engine import Engine
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import length_penalty
from regard.search.rules import check_best, first_tokens, length_limits
from regard.search.token_rules import TokenRule, allowed_log_probabilities, in_loop

FEW = 256
"""Likeliest tokens that are looked at first for a share of all; where they have less, all are put in order."""

DRAWN_AT_ONCE = 2**21
"""Probabilities that are worked on at once: a step of many samples over a large vocabulary needs no more memory."""


@torch.inference_mode()
def sample_search(
    engine: Engine,
    source: Tensor,
    source_mask: Tensor,
    config: SearchConfig,
    best: int = 1,
    longest: int | None = None,
    rules: Sequence[TokenRule] = (),
    doubts: Doubts | None = None,
) -> list[list[Hypothesis]]:
    """Draw `config.samples` outputs for each row of `source` [B, S]; the `best` of them by score, best first.

    Samples are drawn independently of each other, so the same one may come twice. Log-probabilities are the model's
    own, whatever temperature they were drawn with.
    """
    check_best(best, config)
    found = [NBest(best) for _ in range(len(source))]
    if not len(source):
        return []
    limits = length_limits(source_mask, config, longest)
    keys = _keys(source, source_mask, limits, config)
    sentences = torch.arange(len(source), device=source.device)
    tokens = first_tokens(len(source), source.device)
    history = torch.zeros(len(source), 1, dtype=torch.float64, device=source.device)
    state = engine.start(engine.encode(source, source_mask))
    alive = torch.ones(len(source), config.samples, dtype=torch.bool, device=source.device)
    while len(sentences):
        logits, state = engine.step(tokens[:, -1], state)
        if tokens.size(1) == 1:  # so far all samples of a sentence are the same
            rows = sentences.repeat_interleave(config.samples)
            logits, state, tokens, history = logits[rows], state.reorder(rows), tokens[rows], history[rows]
        owners = sentences.repeat_interleave(config.samples)
        allowed = allowed_log_probabilities(logits, tokens, owners, rules)
        drawn, leads = _draw(allowed, keys[sentences, :, tokens.size(1) - 1].flatten(), config)
        if doubts is not None:
            doubts.weigh(owners[alive.flatten()], leads[alive.flatten()])
        tokens = torch.cat([tokens, drawn[:, None]], dim=1)
        history = torch.cat([history, history[:, -1:] + allowed.gather(1, drawn[:, None])], dim=1)
        broken = history[:, -1].isnan().view_as(alive)
        ended = (drawn == EOS_ID).view_as(alive)
        leaving = alive & (ended | (limits[sentences] < tokens.size(1))[:, None])
        for row, hypothesis in _hypotheses(leaving & ~broken, ended, tokens, history, state, config):
            found[int(sentences[row // config.samples])].add(hypothesis)
        alive &= ~leaving & ~broken
        staying = alive.any(dim=1).nonzero()[:, 0]
        if len(staying) < len(sentences):
            rows = (staying[:, None] * config.samples + torch.arange(config.samples, device=source.device)).flatten()
            sentences, alive, tokens, history = sentences[staying], alive[staying], tokens[rows], history[rows]
            state = state.keep(staying, rows)
    if doubts is not None:
        gaps = torch.tensor([hypotheses.gap() for hypotheses in found], dtype=torch.float64)
        doubts.weigh(torch.arange(len(found)), torch.where(gaps == 0, math.inf, gaps))  # the same output, drawn twice
    return [hypotheses.best() for hypotheses in found]


def _keys(source: Tensor, source_mask: Tensor, limits: Tensor, config: SearchConfig) -> Tensor:
    """A random whole number for every token to be drawn, [B, N, L]: by the seed and the sentence's own tokens."""
    numbers = np.zeros((len(source), config.samples, int(limits.max())), dtype=np.int64)
    for row, limit in enumerate(limits.tolist()):
        real_tokens = source[row][source_mask[row]].tolist()
        digest = hashlib.sha256(repr((config.sampling_seed, real_tokens)).encode()).digest()
        generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
        numbers[row, :, :limit] = generator.integers(-(2**63), 2**63, size=(config.samples, limit))
    return torch.from_numpy(numbers).to(source.device)


def _draw(log_probabilities: Tensor, keys: Tensor, config: SearchConfig) -> tuple[Tensor, Tensor]:
    """A token [R] for each row of log-probabilities [R, V], by its key [R], and by how little [R] it beat another.

    Each token gets noise of Gumbel's distribution, and the largest sum wins: it is then drawn with its probability.
    Unlike one number laid along all probabilities, this leaves rare tokens as far apart as others.
    """
    rows = max(1, DRAWN_AT_ONCE // log_probabilities.size(1))
    parts = zip(log_probabilities.split(rows), keys.split(rows), strict=True)  # type: ignore[no-untyped-call]
    drawn, leads = zip(*(_race(part, own_keys, config) for part, own_keys in parts), strict=True)
    return torch.cat(drawn), torch.cat(leads)


def _race(log_probabilities: Tensor, keys: Tensor, config: SearchConfig) -> tuple[Tensor, Tensor]:
    scaled = log_probabilities.double() / config.temperature
    inside, doubtful = narrowed(scaled, config)
    sums = scaled + gumbel(keys, scaled.size(1))
    winner = sums.masked_fill(~inside, -math.inf).argmax(dim=1, keepdim=True)
    others = sums.masked_fill(~(inside | doubtful), -math.inf).scatter(1, winner, -math.inf).amax(dim=1)
    lead = (sums.gather(1, winner)[:, 0] - others) * config.temperature
    # A doubtful token may lead although it is out: that is as close as can be, and so is a doubtful winner.
    return winner[:, 0], lead.clamp(min=0).masked_fill(doubtful.gather(1, winner)[:, 0], 0.0)


def gumbel(keys: Tensor, vocabulary: int) -> Tensor:
    """Noise [R, V] of Gumbel's distribution, -log(-log(u)) with u even in (0, 1), from each row's key and the token."""
    mixed = keys[:, None] + torch.arange(1, vocabulary + 1, device=keys.device) * _signed(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the mixing of SplitMix64
        mixed = (mixed ^ ((mixed >> shift) & (2 ** (64 - shift) - 1))) * _signed(factor)
    even = (((mixed >> 11) & (2**53 - 1)).double() + 0.5) / 2**53
    return -(-even.log()).log()


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def narrowed(scaled: Tensor, config: SearchConfig, few: int = FEW) -> tuple[Tensor, Tensor]:
    """Which tokens [R, V] `top_k` and then `top_p` leave, and for which of all that was too close to call.

    `scaled` [R, V] are logarithms of probabilities, up to a constant for each row. The `few` likeliest are put in
    order, and all of them only in rows where these have too small a share.
    """
    vocabulary = scaled.size(1)
    count = min(config.top_k or vocabulary, vocabulary)
    doubtful = torch.zeros_like(scaled, dtype=torch.bool)
    if count == vocabulary and config.top_p == 1:
        return ~doubtful, doubtful
    few = min(few, count) if config.top_p < 1 else count
    ranked, tokens = scaled.topk(min(few + 1, vocabulary), dim=1)
    total = (scaled if count == vocabulary else scaled.topk(count, dim=1).values).logsumexp(dim=1, keepdim=True)
    shares = (ranked - total).exp()
    before = shares.cumsum(dim=1) - shares
    chosen = (torch.arange(ranked.size(1), device=ranked.device) < count) & (before < config.top_p)
    last = chosen.sum(dim=1, keepdim=True)
    last_in, first_out = (ranked.gather(1, at.clamp(max=ranked.size(1) - 1)) for at in (last - 1, last))
    tied = (last < ranked.size(1)) & (last_in - first_out < CLOSE)
    if config.top_p < 1:
        doubtful = doubtful.scatter(1, tokens, (before - config.top_p).abs() < CLOSE_SHARE)
    doubtful |= tied & ((scaled - last_in).abs() < 2 * CLOSE)
    inside = torch.zeros_like(doubtful).scatter(1, tokens, chosen)
    if few < count:
        lacking = (before[:, -1] <= config.top_p + CLOSE_SHARE).nonzero()[:, 0]
        if len(lacking):
            inside[lacking], doubtful[lacking] = narrowed(scaled[lacking], config, vocabulary)
    return inside, doubtful


def _hypotheses(
    leaving: Tensor, ended: Tensor, tokens: Tensor, history: Tensor, state: object, config: SearchConfig
) -> list[tuple[int, Hypothesis]]:
    """The outputs of the rows that `leaving` [B, N] marks, each with its row."""
    rows = leaving.flatten().nonzero()[:, 0]
    if not len(rows):
        return []
    penalty = length_penalty(tokens.size(1) - 1, config)
    coverage = coverage_penalties(state, rows, config.coverage_penalty)
    made = []
    for row, uncovered in zip(rows.tolist(), coverage, strict=True):
        finished = bool(ended.flatten()[row])
        output = tokens[row, 1:-1] if finished else tokens[row, 1:]
        looped = bool(config.max_repeats) and bool(in_loop(output[None], config.max_repeats))
        total = float(history[row, -1])
        each = history[row].diff().tolist()
        score = total / penalty + uncovered
        made.append((row, Hypothesis(output.tolist(), score, total, finished and not looped, each, looped)))
    return made
