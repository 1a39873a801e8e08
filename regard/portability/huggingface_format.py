"""Export to Hugging Face transformers: a folder that AutoModelForSeq2SeqLM and AutoTokenizer open.

Post-norm models become Marian and pre-norm ones Pegasus, which are the paper's Transformer with these norms. A model
whose positions are M2M100's, as one that was imported from there, becomes M2M100 again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from regard.atomic import write_file
from regard.models.folder import WEIGHTS, LoadedModel
from regard.models.transformer import Transformer
from regard.nn.positions import LearnedPositions
from regard.portability import parts
from regard.portability.huggingface_names import interleaved_to_halves, layer_weights, reorder_width
from regard.portability.huggingface_positions import padding_of
from regard.portability.huggingface_tokenizer import Marks, marks_of, write_tokenizer
from regard.portability.parts import cannot

NAME = "Hugging Face"
LONGEST = 1024
"""Positions for which Marian and Pegasus make their waves as they are loaded."""
NEVER = -1e9
"""The bias of a token that stands in a vocabulary only to fill it."""

ARCHITECTURES = {
    "marian": "MarianMTModel",
    "pegasus": "PegasusForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
}


def write_huggingface(loaded: LoadedModel, folder: Path, quantization: str, where: Path) -> tuple[str, ...]:
    """Write the model of the folder `where` into an empty folder."""
    assert quantization == "float32"
    model = parts.transformer(loaded, where, NAME)
    family = _family(loaded, model, where)
    weights = _weights(loaded, model, family, where)
    if loaded.config.model.positions == "sinusoidal":
        weights = reorder_width(weights, interleaved_to_halves(loaded.config.model.width))
    content = {name: tensor.detach().float().contiguous().clone() for name, tensor in weights.items()}
    write_file(folder / WEIGHTS, save(content, metadata={"format": "pt"}))
    _write_json(folder / "config.json", _configuration(loaded, family, weights))
    _write_json(folder / "generation_config.json", _generation(loaded))
    longest = loaded.config.model.max_positions if family == "m2m_100" else LONGEST
    write_tokenizer(folder, loaded.tokenizers.source, longest)
    if not loaded.tokenizers.shared:
        write_tokenizer(folder / "target", loaded.tokenizers.target, longest)
    return _notes(loaded, family)


def _family(loaded: LoadedModel, model: Transformer, where: Path) -> str:
    config = loaded.config.model
    parts.refuse_scores(loaded, where, NAME)
    if config.activation in ("gated-gelu", "swiglu"):
        raise cannot(where, NAME, f'`model.activation = "{config.activation}"` is gated, and its models have no gates')
    if config.positions in ("sinusoidal", "concatenated"):
        return "marian" if config.norm == "post" else "pegasus"
    if config.positions == "learned" and config.norm == "pre" and _has_m2m100_positions(loaded, model):
        return "m2m_100"
    raise cannot(where, NAME, f'`model.positions = "{config.positions}"`, and its models have fixed waves')


def _has_m2m100_positions(loaded: LoadedModel, model: Transformer) -> bool:
    padding = marks_of(loaded.tokenizers.source).padding
    tables = [side.positions for side in (model.source_embedding, model.target_embedding)]
    return all(
        isinstance(table, LearnedPositions) and padding_of(table.vectors.detach()) == padding for table in tables
    )


def _weights(loaded: LoadedModel, model: Transformer, family: str, where: Path) -> dict[str, Tensor]:
    source_marks, target_marks = marks_of(loaded.tokenizers.source), marks_of(loaded.tokenizers.target)
    source = source_marks.theirs(model.source_embedding.table.weight)
    target = target_marks.theirs(model.target_embedding.table.weight)
    output = target_marks.theirs(model.output.weight)
    bias = None if model.output.bias is None else target_marks.theirs(model.output.bias)
    tie = loaded.config.model.tie
    if family != "marian" and len(source) != len(target):
        # Both vocabularies have one size there; what fills the smaller one up is never said.
        size = max(len(source), len(target))
        bias = torch.zeros(len(target)) if bias is None else bias
        bias = torch.cat([bias, torch.full((size - len(target),), NEVER)])
        source, target, output = (_filled(table, size) for table in (source, target, output))
    if family == "m2m_100" and bias is not None and bool(bias.any()):
        raise cannot(where, NAME, "`model.output_bias = true`, and M2M100 has no such bias")
    weights = layer_weights(model)
    if tie == "three-way":
        weights["model.shared.weight"] = source
    else:
        if family != "marian":
            weights["model.shared.weight"] = source
        weights |= {"model.encoder.embed_tokens.weight": source, "model.decoder.embed_tokens.weight": target}
        if tie == "none" or family != "marian":
            weights["lm_head.weight"] = output
    if family != "m2m_100":
        weights["final_logits_bias"] = (torch.zeros(len(target)) if bias is None else bias)[None]
    return weights


def _filled(table: Tensor, size: int) -> Tensor:
    return torch.cat([table.detach(), torch.zeros(size - len(table), table.size(1))])


def _configuration(loaded: LoadedModel, family: str, weights: dict[str, Tensor]) -> dict[str, Any]:
    config = loaded.config.model
    marks = marks_of(loaded.tokenizers.target)
    shared = config.tie == "three-way"
    sizes = [
        len(weights["model.shared.weight" if shared else f"model.{side}.embed_tokens.weight"])
        for side in ("encoder", "decoder")
    ]
    document: dict[str, Any] = {
        "architectures": [ARCHITECTURES[family]],
        "model_type": family,
        "is_encoder_decoder": True,
        "vocab_size": sizes[0],
        "d_model": config.width,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": config.scale_embeddings,
        "max_position_embeddings": config.max_positions if family == "m2m_100" else LONGEST,
        "tie_word_embeddings": shared or (config.tie == "target" and family == "marian"),
        "use_cache": True,
        "dtype": "float32",
        **marks.configuration(),
        "forced_eos_token_id": None,
    }
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        document |= {
            f"{side}_layers": layers,
            f"{side}_attention_heads": config.heads,
            f"{side}_ffn_dim": config.feed_forward,
            f"{side}_layerdrop": 0.0,
        }
    if family == "marian":
        document |= {"decoder_vocab_size": sizes[1], "share_encoder_decoder_embeddings": shared}
    data = loaded.config.data
    document["regard"] = {
        "positions": config.positions,
        "tie": config.tie,
        "output_bias": config.output_bias,
        "source_language": data.source_language,
        "target_language": data.target_language,
        "search": loaded.config.search.model_dump(exclude_none=True),
        "sizes": [loaded.tokenizers.source.vocabulary_size, loaded.tokenizers.target.vocabulary_size],
    }
    return document


def _generation(loaded: LoadedModel) -> dict[str, Any]:
    """Greedy search, as it was compared; `num_beams` may be given with each call."""
    marks = marks_of(loaded.tokenizers.target)
    return {
        **marks.configuration(),
        "max_length": LONGEST // 2,
        "num_beams": 1,
        "do_sample": False,
        "suppress_tokens": _suppressed(marks),
    }


def _suppressed(marks: Marks) -> list[int]:
    """What no output may hold: padding, beginning and unknown, unless one of them is the end mark, too."""
    return sorted({marks.padding, marks.start, marks.unknown} - {marks.end, -1})


def _notes(loaded: LoadedModel, family: str) -> tuple[str, ...]:
    notes = [f"it is a {ARCHITECTURES[family]}"]
    if loaded.config.model.positions == "sinusoidal":
        notes.append("the elements of each token's vector are in another order, sines first, as its positions want")
    if loaded.config.model.score in ("dot", "general"):
        notes.append(f'`model.score = "{loaded.config.model.score}"` became a part of the query\'s projection')
    if not loaded.tokenizers.shared:
        notes.append('the target has a vocabulary of its own: AutoTokenizer.from_pretrained(FOLDER + "/target")')
    return tuple(notes)


def _write_json(path: Path, document: dict[str, Any]) -> None:
    write_file(path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())
