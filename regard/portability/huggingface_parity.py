"""Comparing a Hugging Face folder with a model of ours: its own classes load, tokenize, compute and generate."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.data.imported_tokenizer import ImportedTokenizer
from regard.data.vocabulary import PAD_ID
from regard.models.folder import LoadedModel
from regard.portability import optional
from regard.portability.huggingface_tokenizer import Marks, marks_of
from regard.portability.parity import Outputs
from regard.portability.reference import ROWS, Greedy, largest_difference


def compare_huggingface(loaded: LoadedModel, folder: Path, ours: Greedy, fast: bool = False) -> Outputs:
    """Greedy translations and logits of both; with `fast`, of their tokenizers only the `tokenizer.json` is read."""
    transformers = optional.transformers()
    with _quiet(transformers):
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
        ).eval()
        tokenizer = target = _tokenizer(transformers, folder, fast)
        if not loaded.tokenizers.shared:
            target = _tokenizer(transformers, folder / "target", fast)
        sources, marks = marks_of(loaded.tokenizers.source), marks_of(loaded.tokenizers.target)
        given = [_with_end(tokenizer(text)["input_ids"], marks.end) for text in ours.texts]
        rows = [row for start in range(0, len(given), ROWS) for row in _generate(model, given, ours, start, marks)]
        difference = largest_difference(loaded, ours, lambda *batch: _logits(model, sources, marks, *batch))
        texts = [target.decode(row, skip_special_tokens=True) for row in rows]
    source_tokens, target_tokens = _to_ours(sources), _to_ours(marks)
    return Outputs(
        ours=ours.tokens,
        theirs=[target_tokens(row) for row in rows],
        our_texts=ours.translations,
        their_texts=texts,
        our_sources=ours.source_rows,
        their_sources=[source_tokens(row[:-1]) for row in given],
        difference=difference,
    )


def _tokenizer(transformers: Any, folder: Path, fast: bool) -> Any:
    if fast:
        file = str(folder / "tokenizer.json")
        return transformers.PreTrainedTokenizerFast(
            tokenizer_file=file, clean_up_tokenization_spaces=False, split_special_tokens=True
        )
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _generate(model: Any, given: list[list[int]], ours: Greedy, start: int, marks: Marks) -> list[list[int]]:
    """Their numbers of the tokens of greedy translations, without marks, of a batch of sources in their numbers."""
    part = slice(start, start + ROWS)
    sources = [torch.tensor(row) for row in given[part]]
    ids = pad_sequence(sources, batch_first=True, padding_value=marks.padding)
    mask = pad_sequence([torch.ones_like(row) for row in sources], batch_first=True)
    made = model.generate(
        input_ids=ids,
        attention_mask=mask,
        num_beams=1,
        do_sample=False,
        max_new_tokens=max(ours.limits[part]),
        max_length=None,
        suppress_tokens=sorted({marks.padding, marks.start, marks.unknown} - {marks.end, -1}),
        forced_eos_token_id=None,
    )[:, 1:].tolist()
    rows = [row[:limit] for row, limit in zip(made, ours.limits[part], strict=True)]
    return [row[: row.index(marks.end)] if marks.end in row else row for row in rows]


def _with_end(row: list[int], end: int) -> list[int]:
    return row if row and row[-1] == end else [*row, end]


def _logits(model: Any, sources: Marks, marks: Marks, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    """Their logits [B, T, V] for our token numbers, in our order."""
    given = _numbers(source, sources).masked_fill(~mask, sources.padding)
    # Padding in a target comes after all that counts, but M2M100 counts its positions by what is no padding.
    output = model(
        input_ids=given, attention_mask=mask.long(), decoder_input_ids=_numbers(target, marks), use_cache=False
    )
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


def _to_ours(marks: Marks) -> Callable[[list[int]], list[int]]:
    """From their numbers of tokens to ours."""
    if marks.order is None:
        return lambda row: [token for token in row if token != PAD_ID]
    owners = ImportedTokenizer.owners(marks.order)
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
