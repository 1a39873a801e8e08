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
from regard.search.doubts import CLOSE_SHARE, Doubts
from regard.search.engine import Engine
from regard.search.hypotheses import Hypothesis, NBest
from regard.search.length_penalty import length_penalty
from regard.search.rules import check_best, first_tokens, length_limits
from regard.search.token_rules import TokenRule, allowed_log_probabilities, in_loop


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
    chance = _chance(source, source_mask, limits, config)
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
        drawn, gaps = _draw(allowed, chance[sentences, :, tokens.size(1) - 1].flatten(), config)
        if doubts is not None:
            doubts.weigh(owners[alive.flatten()], gaps[alive.flatten()], CLOSE_SHARE)
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


def _chance(source: Tensor, source_mask: Tensor, limits: Tensor, config: SearchConfig) -> Tensor:
    """Numbers [B, N, L] evenly from [0, 1): a stream for each sentence, by the seed and the sentence's own tokens."""
    numbers = np.zeros((len(source), config.samples, int(limits.max())))
    for row, limit in enumerate(limits.tolist()):
        real_tokens = source[row][source_mask[row]].tolist()
        digest = hashlib.sha256(repr((config.sampling_seed, real_tokens)).encode()).digest()
        generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
        # 32 bits each, so that a product with a sum of probabilities stays below it
        numbers[row, :, :limit] = generator.integers(2**32, size=(config.samples, limit)) / 2**32
    return torch.from_numpy(numbers).to(source.device)


def _draw(log_probabilities: Tensor, chance: Tensor, config: SearchConfig) -> tuple[Tensor, Tensor]:
    """A token [R] for each row of log-probabilities [R, V], by a number [R] from 0 to 1.

    Also how near [R] the number came to drawing another token.
    """
    shares, narrow_gaps = narrowed((log_probabilities.double() / config.temperature).softmax(dim=1), config)
    sums = shares.cumsum(dim=1)
    wanted = (chance * sums[:, -1])[:, None]
    drawn = torch.searchsorted(sums, wanted, right=True).clamp(max=shares.size(1) - 1)
    above = (sums.gather(1, drawn) - wanted)[:, 0]
    gaps = torch.minimum(above, shares.gather(1, drawn)[:, 0] - above)
    return drawn[:, 0], torch.minimum(gaps, narrow_gaps)


def narrowed(shares: Tensor, config: SearchConfig) -> tuple[Tensor, Tensor]:
    """Probabilities [R, V] with all but the likeliest tokens at 0, as `top_k` and `top_p` say, not made to sum to 1.

    Also how near [R] another token came to be in, or to be out.
    """
    gaps = torch.full((len(shares),), math.inf, dtype=shares.dtype, device=shares.device)
    count = config.top_k or shares.size(1)
    if count >= shares.size(1) and config.top_p == 1:
        return shares, gaps
    ranked, tokens = shares.sort(dim=1, descending=True, stable=True)
    inside = torch.arange(shares.size(1), device=shares.device)[None] < count
    if config.top_p < 1:
        before = (ranked * inside).cumsum(dim=1) - ranked
        of_all = config.top_p * (ranked * inside).sum(dim=1, keepdim=True)
        gaps = (before - of_all).abs().masked_fill(~inside, math.inf).amin(dim=1)
        inside = inside & (before < of_all)
    inside = inside.expand_as(ranked)
    last = inside.sum(dim=1, keepdim=True)
    first_out = ranked.gather(1, last.clamp(max=shares.size(1) - 1))
    differences = (ranked.gather(1, last - 1) - first_out)[:, 0]
    # Two impossible tokens are equal, and so are none: neither is a choice.
    differences = differences.masked_fill((first_out[:, 0] == 0) | (last[:, 0] == shares.size(1)), math.inf)
    kept = torch.zeros_like(shares).scatter(1, tokens, ranked * inside)
    return kept, torch.minimum(gaps, differences)


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
