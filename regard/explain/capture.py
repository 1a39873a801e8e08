"""The attention of one sentence pair, read from a model while it runs, teacher-forced, over the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.tokenizer import Tokenizers
from regard.data.vocabulary import BOS_ID, EOS_ID, SPECIAL_TOKENS
from regard.errors import InputError
from regard.explain.words import Weights, Word, group_words, merge_keys, merge_queries
from regard.models.contract import SequenceToSequence
from regard.models.folder import LoadedModel

PARTS = ("encoder", "decoder", "cross")
DECIMALS = 4


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights [L, H, Q, K] of a sentence pair, with the tokens (or words) of their rows and columns.

    Row t of the decoder is the position that has read `target_input` up to t and predicts `target[t]`. Rows are
    therefore named by the token being predicted: the row "elle" of `cross` shows where the model looked in order
    to write "elle".
    """

    source: tuple[str, ...]
    """The source and its end mark: rows and columns of `encoder`, columns of `cross`."""
    target: tuple[str, ...]
    """The target and its end mark, each as it is predicted: rows of `decoder` and of `cross`."""
    target_input: tuple[str, ...]
    """The start mark and the target, each as it is read: columns of `decoder`."""
    encoder: Weights
    decoder: Weights
    cross: Weights

    def words(self) -> AttentionMaps:
        """The same for whole words: columns of a word added up, rows averaged."""
        source, target = group_words(self.source), group_words(self.target)
        read = [Word(self.target_input[0], 0, 1), *_shifted(target)]
        return AttentionMaps(
            source=_texts(source),
            target=_texts(target),
            target_input=_texts(read),
            encoder=merge_keys(merge_queries(self.encoder, source), source),
            decoder=merge_keys(merge_queries(self.decoder, target), read),
            cross=merge_keys(merge_queries(self.cross, target), source),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain lists, weights rounded to four decimals, for a page or a program."""
        texts = {name: list(getattr(self, name)) for name in ("source", "target", "target_input")}
        return texts | {name: np.round(getattr(self, name).astype(float), DECIMALS).tolist() for name in PARTS}


@dataclass(frozen=True)
class Captured:
    """What one teacher-forced pass over a pair shows."""

    maps: AttentionMaps
    logits: Tensor
    """[T, V]: of each token of the target and of its end mark."""


def attention_of(loaded: LoadedModel, source: str, target: str) -> AttentionMaps:
    """Where each token of `source` and of `target` looks, in every layer and head of the model."""
    source_ids = [*loaded.tokenizers.source.encode(source), EOS_ID]
    return capture(loaded.model, loaded.tokenizers, source_ids, loaded.tokenizers.target.encode(target)).maps


def capture(
    model: SequenceToSequence, tokenizers: Tokenizers, source_ids: Sequence[int], target_ids: Sequence[int]
) -> Captured:
    """Run a model over a pair, in evaluation mode; the source has its end mark, the target has no marks."""
    recorded, logits = _run(model, source_ids, [BOS_ID, *target_ids])
    start, end = SPECIAL_TOKENS[BOS_ID], SPECIAL_TOKENS[EOS_ID]
    target_pieces = tokenizers.target.pieces(target_ids)
    maps = AttentionMaps(
        source=tuple(tokenizers.source.pieces(source_ids)),
        target=(*target_pieces, end),
        target_input=(start, *target_pieces),
        encoder=_stack(recorded, "encoder"),
        decoder=_stack(recorded, "decoder"),
        cross=_stack(recorded, "cross"),
    )
    return Captured(maps, logits)


def _run(
    model: SequenceToSequence, source_ids: Sequence[int], target_ids: Sequence[int]
) -> tuple[dict[str, Weights], Tensor]:
    """One forward pass in evaluation mode: attention by name, and logits [T, V]; the model's own mode is put back."""
    recorded: dict[str, Weights] = {}

    def record(name: str, weights: Tensor) -> None:
        recorded[name] = weights[0].detach().float().cpu().numpy()

    source, target = (torch.tensor([ids], device=model.device) for ids in (source_ids, target_ids))
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            features = model.features(source, torch.ones_like(source, dtype=torch.bool), target, record)
            return recorded, model.output(features[0]).float().cpu()
    finally:
        model.train(was_training)


def _stack(recorded: dict[str, Weights], part: str) -> Weights:
    """The layers of a part in order, as one array [L, H, Q, K]."""
    names = sorted((name for name in recorded if name.split(".")[0] == part), key=lambda name: int(name.split(".")[1]))
    if not names:
        raise InputError(f"this model keeps no {part} attention, so there is none to show")
    return np.stack([recorded[name] for name in names])


def _shifted(words: Sequence[Word]) -> list[Word]:
    """The words of `target` (without its end mark) where they stand in `target_input`, one place later."""
    return [Word(word.text, word.start + 1, word.stop + 1) for word in words[:-1]]


def _texts(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(word.text for word in words)
