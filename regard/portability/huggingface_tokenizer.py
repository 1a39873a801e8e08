"""Tokenizers for transformers: a `tokenizer.json` and its marks, for PreTrainedTokenizerFast."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.atomic import write_file
from regard.data.imported_tokenizer import ImportedTokenizer
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID


@dataclass(frozen=True)
class Marks:
    """The numbers of the marks in a vocabulary, -1 for one that it lacks, and how its tokens are numbered."""

    padding: int
    start: int
    end: int
    unknown: int
    order: tuple[int, ...] | None
    """For each of our numbers, theirs; None where they are the same."""

    def configuration(self) -> dict[str, int]:
        return {
            "pad_token_id": self.padding,
            "bos_token_id": self.start,
            "eos_token_id": self.end,
            "decoder_start_token_id": self.start,
        }

    def theirs(self, rows: Tensor) -> Tensor:
        """A row for each of our tokens [V, …], as rows of theirs [V', …]; marks that share a token there share one."""
        if self.order is None:
            return rows.detach()
        owners = ImportedTokenizer.owners(self.order)
        return rows.detach()[torch.tensor([owners[number] for number in range(len(owners))])]


def marks_of(tokenizer: Tokenizer) -> Marks:
    """The marks of a vocabulary: ours, or those that an imported one came with."""
    if isinstance(tokenizer, ImportedTokenizer):
        padding, start, end, unknown = tokenizer.order[:4]
        return Marks(padding, start, end, unknown, tokenizer.order)
    return Marks(PAD_ID, BOS_ID, EOS_ID, UNK_ID, None)


def write_tokenizer(folder: Path, tokenizer: Tokenizer, longest: int) -> None:
    """Write the files from which AutoTokenizer makes a PreTrainedTokenizerFast."""
    if isinstance(tokenizer, ImportedTokenizer):
        document, names = json.loads(tokenizer.library_json()), tokenizer.mark_names()
    else:
        document, names = (
            _with_end_mark(tokenizer),
            dict(zip(("pad", "bos", "eos", "unk"), SPECIAL_TOKENS, strict=True)),
        )
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # text that spells a mark, such as `</s>`, is text
        **{f"{mark}_token": name for mark, name in names.items()},
    }
    write_file(folder / "tokenizer.json", json.dumps(document, ensure_ascii=False, indent=1).encode())
    write_file(folder / "tokenizer_config.json", json.dumps(settings, ensure_ascii=False, indent=2).encode())


def _with_end_mark(tokenizer: Tokenizer) -> dict[str, Any]:
    """Our pipeline with the marks registered, and the end mark put after every text, as our models want it."""
    document: dict[str, Any] = json.loads(tokenizer.to_json())
    end = SPECIAL_TOKENS[EOS_ID]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"] = [{"id": number, "content": name, **flags} for number, name in enumerate(SPECIAL_TOKENS)]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 1}}
    mark = {"SpecialToken": {"id": end, "type_id": 0}}
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [text, mark],
        "pair": [text, mark, second, {"SpecialToken": {"id": end, "type_id": 1}}],
        "special_tokens": {end: {"id": end, "ids": [EOS_ID], "tokens": [end]}},
    }
    return document
