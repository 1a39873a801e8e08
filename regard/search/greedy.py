"""Greedy search: the likeliest next token, again and again."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.search.doubts import Doubts
from regard.search.engine import Engine
from regard.search.hypotheses import Hypothesis, NBest, Watch
from regard.search.length_penalty import length_penalty
from regard.search.rules import best_tokens, first_tokens, length_limits


@torch.inference_mode()
def greedy_search(
    engine: Engine,
    source: Tensor,
    source_mask: Tensor,
    config: SearchConfig,
    longest: int | None = None,
    doubts: Doubts | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis for each row of `source` [B, S]; sentences leave the batch as they end.

    It gives what a beam of 1 gives, without keeping a beam in order, and with no rule for tokens. No output gets more
    than `longest` tokens. `doubts` is told of choices that were too close to call, `watch` of every step.
    """
    found = [NBest(1) for _ in range(len(source))]
    sentences = torch.arange(len(source), device=source.device)
    limits = length_limits(source_mask, config, longest)
    tokens = first_tokens(len(source), source.device)
    history = torch.zeros(len(source), 1, dtype=torch.float64, device=source.device)
    log_probabilities = history[:, 0]
    state = engine.start(engine.encode(source, source_mask)) if len(source) else None
    while state is not None and len(sentences):
        logits, state = engine.step(tokens[:, -1], state)
        step_log_probabilities, best = best_tokens(logits, 1 if doubts is None else 2)
        if doubts is not None and best.size(1) == 2:
            doubts.weigh(sentences, step_log_probabilities[:, 0] - step_log_probabilities[:, 1])
        next_tokens = best[:, 0]
        log_probabilities = log_probabilities + step_log_probabilities[:, 0]
        history = torch.cat([history, log_probabilities[:, None]], dim=1)
        tokens = torch.cat([tokens, next_tokens[:, None]], dim=1)
        length = tokens.size(1) - 1
        ended = next_tokens == EOS_ID
        leaving = ended | (limits <= length) | log_probabilities.isnan()
        if watch is not None:
            for row in (~leaving).nonzero()[:, 0].tolist():
                watch(int(sentences[row]), tokens[row, 1:].tolist())
        if not leaving.any():
            continue
        for row in leaving.nonzero()[:, 0].tolist():
            if not log_probabilities[row].isnan():
                hypothesis = _hypothesis(tokens[row], history[row], bool(ended[row]), config)
                found[int(sentences[row])].add(hypothesis)
        staying = (~leaving).nonzero()[:, 0]
        sentences, limits = sentences[staying], limits[staying]
        tokens, log_probabilities, history = tokens[staying], log_probabilities[staying], history[staying]
        state = state.keep(staying, staying)
    return [hypotheses.best() for hypotheses in found]


def _hypothesis(tokens: Tensor, history: Tensor, finished: bool, config: SearchConfig) -> Hypothesis:
    log_probability, penalty = float(history[-1]), length_penalty(len(tokens) - 1, config)
    output = tokens[1:-1] if finished else tokens[1:]
    return Hypothesis(output.tolist(), log_probability / penalty, log_probability, finished, history.diff().tolist())
