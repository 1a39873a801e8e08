"""`regard import`: a Hugging Face folder into a model folder, compared with transformers where that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import Config
from regard.data.tokenizer import Tokenizers
from regard.errors import InputError, ModelFolderError
from regard.models import build_model
from regard.models.folder import load_model, load_weights, save_model
from regard.portability import parity
from regard.portability.export import check_output, write_aside
from regard.portability.huggingface_config import (
    ACTIVATIONS,
    HuggingFaceConfig,
    read_generation,
    read_huggingface_config,
)
from regard.portability.huggingface_vocabulary import read_tokenizers
from regard.portability.huggingface_weights import our_weights, read_weights
from regard.portability.optional import has
from regard.portability.parity import Parity
from regard.portability.reference import greedy, with_plain_search
from regard.portability.sentences import choose_sentences
from regard.progress import task
from regard.recipe import parse_config


@dataclass(frozen=True)
class Import:
    """The model folder that was written, and how it compares with where it comes from."""

    output: Path
    architecture: str
    parameters: int
    parity: Parity | None

    def to_text(self) -> str:
        compared = self.parity.to_text() if self.parity is not None else _NOT_COMPARED
        return f"{compared}\n\nWritten: {self.output}, a {self.architecture} of {self.parameters:,} parameters"

    def to_json(self) -> dict[str, Any]:
        return {
            "output": self.output,
            "architecture": self.architecture,
            "parameters": self.parameters,
            "parity": None if self.parity is None else self.parity.to_json(),
        }


_NOT_COMPARED = "Not compared with the original, for transformers is not installed here: pip install transformers"


def import_model(
    folder: str | Path,
    output: str | Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    sentences: Path | None = None,
    force: bool = False,
) -> Import:
    """Read a Marian, Pegasus or M2M100 folder of transformers into a model folder.

    The languages are as given, or those that our own export noted, if it wrote the folder.
    """
    folder, output = Path(folder), Path(output)
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such folder; download the model first, as a folder with a config.json")
    check_output(output, folder, force)
    theirs = read_huggingface_config(folder)
    search = read_generation(folder)
    with task("reading weights"):
        tensors = read_weights(folder, theirs)
    tokenizers = read_tokenizers(folder, theirs)
    weights, tie, has_bias = our_weights(tensors, theirs, tokenizers)
    config = _configuration(theirs, tokenizers, tie, has_bias, _languages(folder, theirs, languages), search)
    model = build_model(config.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size).eval()
    load_weights(model, weights, folder)
    compared: list[Parity] = []

    def fill(aside: Path) -> Parity | None:
        save_model(aside, model, config, tokenizers, _card(folder, theirs, config))
        if not has("transformers"):
            return None
        compared.append(_compare(aside, folder, sentences, theirs.max_position_embeddings))
        parity.require(compared[0])
        return compared[0]

    write_aside(output, force, fill)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Import(output, theirs.model_type, parameters, compared[0] if compared else None)


def _compare(aside: Path, folder: Path, sentences: Path | None, longest: int) -> Parity:
    """What was written, read again, beside what it was made from."""
    from regard.portability.huggingface_parity import compare_huggingface

    loaded = with_plain_search(load_model(aside))
    chosen = choose_sentences(loaded.config, loaded.tokenizers.source, sentences)
    ours = greedy(loaded, chosen.sources, longest)
    with task("translating with transformers"):
        outputs = compare_huggingface(loaded, folder, ours, fast=True)
    sentences_compared = chosen.only(ours.numbers)
    return parity.measure(f"{folder}, imported", outputs, loaded.config, sentences_compared, parity.FLOAT32)


def _languages(folder: Path, theirs: HuggingFaceConfig, given: tuple[str | None, str | None]) -> tuple[str, str]:
    noted = (theirs.regard.source_language, theirs.regard.target_language) if theirs.regard else ("", "")
    source, target = (each or other for each, other in zip(given, noted, strict=True))
    if not (source and target):
        raise InputError(
            f"{folder} does not say which languages it translates; "
            "name them: --source-language CODE --target-language CODE"
        )
    return source, target


def _configuration(
    theirs: HuggingFaceConfig,
    tokenizers: Tokenizers,
    tie: str,
    has_bias: bool,
    languages: tuple[str, str],
    search: dict[str, Any],
) -> Config:
    source, target = languages
    if theirs.regard is not None and theirs.regard.search:
        search = dict(theirs.regard.search)
    return parse_config(
        {
            "data": {"source_language": source, "target_language": target},
            "tokenizer": {
                "shared": tokenizers.shared,
                "vocabulary_size": min(max(300, tokenizers.target.vocabulary_size), 1_000_000),
            },
            "model": {
                "width": theirs.d_model,
                "feed_forward": theirs.encoder_ffn_dim,
                "heads": theirs.encoder_attention_heads,
                "encoder_layers": theirs.encoder_layers,
                "decoder_layers": theirs.decoder_layers,
                "norm": "post" if theirs.model_type == "marian" else "pre",
                "activation": ACTIVATIONS[theirs.activation_function],
                "positions": theirs.positions,
                "max_positions": theirs.max_position_embeddings,
                "tie": tie,
                "output_bias": has_bias,
                "scale_embeddings": theirs.scale_embedding,
                "dropout": theirs.dropout,
                "attention_dropout": theirs.attention_dropout,
                "activation_dropout": theirs.activation_dropout,
            },
            "search": search,
        },
        where="the imported model",
    )


def _card(folder: Path, theirs: HuggingFaceConfig, config: Config) -> str:
    data = config.data
    return (
        f"# {data.source_language} to {data.target_language}, imported by regard\n\n"
        f"A {theirs.model_type} model of transformers, read from `{folder.name}`. Its licence and its makers' card hold"
        " for this copy, too: put them here before you share it.\n"
    )
