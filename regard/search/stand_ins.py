"""Stand-ins: words that take the places of spans while a model translates, since it copies them best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.data.vocabulary import EOS_ID, FIRST_LEARNED_ID
from regard.search.batching import pad
from regard.search.engine import Engine
from regard.search.rules import first_tokens
from regard.search.spellings import Constraint, Spelling, term_constraint
from regard.text.units import is_unspaced

if TYPE_CHECKING:
    from regard.search.translator import Translator

MOST_TRIED, MOST_KEPT, ROWS = 512, 64, 64


@dataclass(frozen=True)
class StandIn:
    """A word of one token on either side."""

    text: str
    source: int
    target: int
    constraint: Constraint


def stand_ins(translator: Translator) -> list[StandIn]:
    """The words that the model copies best, best first.

    Tried are words of one token that both vocabularies have. Each is given to the model alone; its rank is the
    probability with which the translation begins with it.
    """
    candidates = _candidates(translator.tokenizers)
    with translator._evaluating():
        chances = _copying(translator._engine("float32"), candidates, translator.model.device)
    ranked = sorted(zip(chances, candidates, strict=True), key=lambda each: -each[0])
    return [candidate for _, candidate in ranked[:MOST_KEPT]]


def _candidates(tokenizers: Tokenizers) -> list[StandIn]:
    """Digits first, then words drawn evenly from the rarer half of the vocabulary: common ones are needed."""
    words = [text for text in _words(tokenizers.target) if len(text) > 1 or text.isdigit()]
    digits = [text for text in words if text.isdigit()]
    others = [text for text in words if not text.isdigit()]
    others = others[len(others) // 2 :]
    step = max(1, len(others) // MOST_TRIED)
    sources = tokenizers.source.encode_batch(digits + others[::step])
    found = []
    for text, source in zip(digits + others[::step], sources, strict=True):
        constraint = _constraint(tokenizers.target, text)
        if len(source) == 1 and constraint is not None:
            found.append(StandIn(text, source[0], constraint.spellings[0].tokens[0], constraint))
    return found[:MOST_TRIED]


def _words(tokenizer: Tokenizer) -> list[str]:
    pieces = tokenizer.pieces(range(FIRST_LEARNED_ID, tokenizer.vocabulary_size))
    texts = [piece.removeprefix("▁") for piece in pieces]
    return [text for text in dict.fromkeys(texts) if text.isalnum() and not any(map(is_unspaced, text))]


def _constraint(tokenizer: Tokenizer, text: str) -> Constraint | None:
    """The constraint of a word that is one token with a space in front; its other spellings are not wanted."""
    spelling = term_constraint(tokenizer, text).spellings[0]
    if len(spelling.tokens) > 1:
        return None
    return Constraint((Spelling(spelling.tokens),), closed=True, reserved=True, unjoined=True)


@torch.inference_mode()
def _copying(engine: Engine, candidates: Sequence[StandIn], device: torch.device) -> list[float]:
    """The log-probability that the translation of each word begins with the same word."""
    chances: list[float] = []
    for start in range(0, len(candidates), ROWS):
        some = candidates[start : start + ROWS]
        source, source_mask = pad([[each.source, EOS_ID] for each in some], device)
        state = engine.start(engine.encode(source, source_mask))
        logits, _ = engine.step(first_tokens(len(some), device)[:, 0], state)
        targets = torch.tensor([each.target for each in some], device=device)
        chances += logits.float().log_softmax(dim=-1).gather(1, targets[:, None])[:, 0].tolist()
    return chances
