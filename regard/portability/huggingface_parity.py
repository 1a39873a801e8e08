"""Comparing a Hugging Face folder with a model of ours: its own classes load, tokenize, compute and generate."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.data.imported_tokenizer import ImportedTokenizer
from regard.data.vocabulary import PAD_ID
from regard.models.folder import LoadedModel
from regard.portability.huggingface_tokenizer import Marks, marks_of
from regard.portability.optional import need
from regard.portability.parity import Outputs
from regard.portability.reference import Greedy, largest_difference

EXTRA = "transformers>=4.50"


def compare_huggingface(loaded: LoadedModel, folder: Path, ours: Greedy) -> Outputs:
    """Greedy translations and logits of both."""
    transformers = need("transformers", EXTRA)
    with _quiet(transformers):
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
        ).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        target = tokenizer
        if not loaded.tokenizers.shared:
            target = transformers.AutoTokenizer.from_pretrained(folder / "target", local_files_only=True)
        sources, marks = marks_of(loaded.tokenizers.source), marks_of(loaded.tokenizers.target)
        rows = [_generate(model, tokenizer, text, limit, marks) for text, limit in zip(ours.texts, ours.limits, strict=True)]
        difference = largest_difference(loaded, ours, lambda *batch: _logits(model, sources, marks, *batch))
        texts = [target.decode(row, skip_special_tokens=True) for row in rows]
    translate = _to_ours(loaded)
    return Outputs(ours.tokens, [translate(row) for row in rows], ours.translations, texts, difference)


def _generate(model: Any, tokenizer: Any, text: str, limit: int, marks: Marks) -> list[int]:
    """Their numbers of the tokens of a greedy translation, without marks."""
    given = tokenizer(text, return_tensors="pt")
    ids = given["input_ids"]
    if int(ids[0, -1]) != marks.end:
        ids = torch.cat([ids, torch.tensor([[marks.end]])], dim=1)
    never = sorted({marks.padding, marks.start, marks.unknown} - {marks.end, -1})
    made = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        num_beams=1,
        do_sample=False,
        max_new_tokens=limit,
        max_length=None,
        suppress_tokens=never,
        forced_eos_token_id=None,
    )[0, 1:].tolist()
    return made[: made.index(marks.end)] if marks.end in made else made


def _logits(model: Any, sources: Marks, marks: Marks, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    """Their logits [B, T, V] for our token numbers, in our order."""
    given = _numbers(source, sources).masked_fill(~mask, sources.padding)
    # Padding in a target comes after all that counts, but M2M100 counts its positions by what is no padding.
    output = model(input_ids=given, attention_mask=mask.long(), decoder_input_ids=_numbers(target, marks), use_cache=False)
    logits: Tensor = output.logits
    if marks.order is None:
        return logits
    order = torch.tensor(marks.order)
    ours = logits[..., order.clamp(min=0)]
    owners = ImportedTokenizer.owners(marks.order)
    copies = [number for number, theirs in enumerate(marks.order) if theirs < 0 or owners[theirs] != number]
    ours[..., copies] = -1e9
    return ours


def _numbers(tokens: Tensor, marks: Marks) -> Tensor:
    return tokens if marks.order is None else torch.tensor(marks.order).clamp(min=0)[tokens]


def _to_ours(loaded: LoadedModel) -> Any:
    order = marks_of(loaded.tokenizers.target).order
    if order is None:
        return lambda row: [token for token in row if token != PAD_ID]
    owners = ImportedTokenizer.owners(order)
    return lambda row: [owners[token] for token in row]


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No bars and no advice of the library's in the midst of ours."""
    level = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.ERROR)
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(level)
        if bars:
            transformers.logging.enable_progress_bar()
