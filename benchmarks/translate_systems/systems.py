"""The systems that translate: each opens its form of the same model, and turns texts into texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALPHA = 0.6
"""The strength of the length penalty n^alpha, which all systems have in common."""
SINGLE_TRANSFORMERS = 50
TRANSFORMERS_SENTENCES = 1000
"""Sentences that transformers is given, for it would need hours for what takes others minutes."""

LIMIT = 64
"""Tokens that an output may have, for all systems: a model that has learned little may not know when to end."""

Translate = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Setting:
    """How a system may be told to use the machine."""

    threads: int
    """Cores that it may use."""
    inside: int = 1
    """CTranslate2's intra_threads: threads that share one batch."""
    batch: int = 0
    """Tokens of a batch (transformers: sentences); 0: the system's own."""

    def to_text(self) -> str:
        inside = f" ({self.threads // self.inside} x {self.inside})" if self.inside > 1 else ""
        return f"{self.threads}{inside}" + (f", batch {self.batch}" if self.batch else "")


@dataclass(frozen=True)
class System:
    """One row of the table."""

    title: str
    form: str
    """The folder, below that of the model, which it opens."""
    compute: str
    open: Callable[[Path, System, Setting, int], Translate]

    def settings(self, cores: int, single: bool) -> list[Setting]:
        """What is tried before the rounds."""
        threads = sorted({1, cores})
        if self.form == "huggingface":
            return [Setting(number, batch=0 if single else 64) for number in threads]
        if self.form == "regard":
            return [Setting(1)] if single else [Setting(number) for number in threads]
        if single:
            return [Setting(number, number) for number in threads]
        batches = (512, 1024, 2048, 4096)
        apart = [Setting(cores, 1, batch) for batch in batches]
        return apart + ([Setting(cores, cores, batch) for batch in batches[1:3]] if cores > 1 else [])


def open_regard(folder: Path, system: System, setting: Setting, beam: int) -> Translate:
    import torch

    import regard

    torch.set_num_threads(setting.threads)
    translator = regard.load(folder)
    compute: Any = system.compute

    def translate(texts: Sequence[str]) -> list[str]:
        return translator.translate(
            texts,
            beam=beam,
            length_penalty="mean",
            alpha=ALPHA,
            compute=compute,
            max_length_extra=LIMIT,
            max_length=LIMIT,
        )

    return translate


def open_ctranslate2(folder: Path, system: System, setting: Setting, beam: int) -> Translate:
    """Our tokenizer before and after it, as with regard itself."""
    import ctranslate2

    from regard.data.tokenizer import Tokenizers

    tokenizers = Tokenizers.load(folder)
    translator = ctranslate2.Translator(
        str(folder),
        device="cpu",
        compute_type=system.compute,
        inter_threads=setting.threads // setting.inside,
        intra_threads=setting.inside,
    )
    pieces = tokenizers.source.learned.pieces
    numbers = {piece: number for number, piece in enumerate(tokenizers.target.learned.pieces)}

    def translate(texts: Sequence[str]) -> list[str]:
        sources = [[pieces[token] for token in row] for row in tokenizers.source.encode_batch(texts)]
        found = translator.translate_batch(
            sources,
            beam_size=beam,
            length_penalty=ALPHA,
            max_batch_size=setting.batch,
            batch_type="tokens",
            max_decoding_length=LIMIT,
            disable_unk=True,  # as regard does
        )
        return [tokenizers.target.decode([numbers[piece] for piece in one.hypotheses[0]]) for one in found]

    return translate


def open_transformers(folder: Path, system: System, setting: Setting, beam: int) -> Translate:  # noqa: ARG001
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(setting.threads)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    size = setting.batch or 1

    @torch.inference_mode()
    def translate(texts: Sequence[str]) -> list[str]:
        encoded = tokenizer(list(texts))["input_ids"]
        order = sorted(range(len(texts)), key=lambda index: -len(encoded[index]))
        results = [""] * len(texts)
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            batch = tokenizer.pad({"input_ids": [encoded[index] for index in chosen]}, return_tensors="pt")
            found = model.generate(**batch, num_beams=beam, length_penalty=ALPHA, max_new_tokens=LIMIT, do_sample=False)
            for index, text in zip(chosen, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                results[index] = text
        return results

    return translate


SYSTEMS = {
    "regard": System("regard float32", "regard", "float32", open_regard),
    "regard-int8": System("regard int8", "regard", "int8", open_regard),
    "ctranslate2": System("CTranslate2 float32", "ctranslate2", "float32", open_ctranslate2),
    "ctranslate2-int8": System("CTranslate2 int8", "ctranslate2-int8", "int8", open_ctranslate2),
    "transformers": System("transformers", "huggingface", "float32", open_transformers),
}
