"""The weights of a Hugging Face folder: read from safetensors only, and put under our names."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import Tensor

from regard.data.imported_tokenizer import ImportedTokenizer
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.errors import ModelFolderError
from regard.nn.positions import concatenated_sinusoids
from regard.portability.huggingface_config import HuggingFaceConfig
from regard.portability.huggingface_format import NEVER
from regard.portability.huggingface_names import interleaved_to_halves, our_layer_names, reorder_width
from regard.portability.huggingface_positions import m2m100_positions
from regard.untrusted import plain_file, read_header, read_json, read_tensors, refuse_pickles_only

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_SHARD = re.compile(r"[\w.-]+\.safetensors")
_POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weights?")
_LEFT_ALONE = ("model.encoder.version", "model.decoder.version")
_TOLERANCE = 2e-3
"""Positions may have been rounded to 16 bits."""


def read_weights(folder: Path, config: HuggingFaceConfig) -> dict[str, Tensor]:
    """Their weights under their names, in float32; shapes are checked before anything is read."""
    files = _files(folder)
    sizes: dict[str, tuple[int, ...]] = {}
    for file in files:
        for name, info in read_header(file).items():
            if name in sizes:
                raise ModelFolderError(f"{file}: tensor `{name}` is in another file, too")
            if not info.is_floating_point and name not in _LEFT_ALONE:
                raise ModelFolderError(f"{file}: tensor `{name}` is of type {info.kind}, not floating point")
            sizes[name] = info.shape
    _check_shapes(folder, sizes, config)
    weights: dict[str, Tensor] = {}
    for file in files:
        weights |= {name: tensor.float() for name, tensor in read_tensors(file).items() if name not in _LEFT_ALONE}
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ModelFolderError(f"{folder}: tensor `{name}` holds values that are no numbers (NaN or infinity)")
    _check_positions(folder, weights, config)
    return weights


def our_weights(
    theirs: dict[str, Tensor], config: HuggingFaceConfig, tokenizers: Tokenizers
) -> tuple[dict[str, Tensor], str, bool]:
    """Our weights by our names, which embeddings are tied, and whether the output has a bias."""
    weights = {name: tensor for name, tensor in theirs.items() if not _POSITIONS.fullmatch(name)}
    if config.positions == "sinusoidal":
        weights = reorder_width(weights, interleaved_to_halves(config.d_model).argsort())
    source, target, output = _tables(weights, config)
    bias = weights.get("final_logits_bias", torch.zeros(1, len(output)))[0]
    if config.regard is not None and len(config.regard.sizes) == 2 and config.model_type == "pegasus":
        # Our own export fills the smaller vocabulary up; what fills it goes again.
        source, target = source[: config.regard.sizes[0]], target[: config.regard.sizes[1]]
        output, bias = output[: config.regard.sizes[1]], bias[: config.regard.sizes[1]]
    ours = {
        name: torch.cat([weights[each] for each in names])
        for name, names in our_layer_names(config.encoder_layers, config.decoder_layers, config.model_type != "marian")
    }
    source, target, output = (
        _renumbered(table, tokenizer)
        for table, tokenizer in (
            (source, tokenizers.source),
            (target, tokenizers.target),
            (output, tokenizers.target),
        )
    )
    bias = _renumbered_bias(bias, tokenizers.target)
    has_bias = bool(bias.any()) or (config.regard is not None and config.regard.output_bias)
    tie = "none" if not torch.equal(target, output) else "target"
    if tie == "target" and tokenizers.shared and torch.equal(source, target):
        tie = "three-way"
    ours["source_embedding.table.weight"] = source
    if tie != "three-way":
        ours["target_embedding.table.weight"] = target
    if tie == "none":
        ours["output.weight"] = output
    if has_bias:
        ours["output.bias"] = bias
    if config.positions == "learned":
        table = m2m100_positions(config.max_position_embeddings, config.d_model, config.pad_token_id)
        ours["source_embedding.positions.vectors"] = ours["target_embedding.positions.vectors"] = table
    return ours, tie, has_bias


def _files(folder: Path) -> list[Path]:
    if (folder / SINGLE).exists() or (folder / SINGLE).is_symlink():
        return [folder / SINGLE]
    if not (folder / INDEX).exists():
        refuse_pickles_only(folder, SINGLE)
    index = read_json(folder / INDEX).get("weight_map")
    if not isinstance(index, dict) or not index:
        raise ModelFolderError(f"{folder / INDEX}: has no `weight_map`")
    names = sorted({str(name) for name in index.values()})
    for name in names:
        plain_file(folder, name, 2**62)
        if not _SHARD.fullmatch(name):
            raise ModelFolderError(f"{folder / INDEX}: names {name!r}, which is no safetensors file")
    return [folder / name for name in names]


def _expected(config: HuggingFaceConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of all weights but embeddings and output."""
    width, inner = config.d_model, config.encoder_ffn_dim
    shapes: dict[str, tuple[int, ...]] = {}
    for _, names in our_layer_names(config.encoder_layers, config.decoder_layers, config.model_type != "marian"):
        for name in names:
            if ".fc1." in name:
                shapes[name] = (inner, width) if name.endswith("weight") else (inner,)
            elif ".fc2.weight" in name:
                shapes[name] = (width, inner)
            else:
                shapes[name] = (width, width) if name.endswith("_proj.weight") else (width,)
    return shapes


def _check_shapes(folder: Path, sizes: dict[str, tuple[int, ...]], config: HuggingFaceConfig) -> None:
    layers = config.encoder_layers + config.decoder_layers
    if layers > len(sizes):
        raise ModelFolderError(
            f"{folder}: has {len(sizes)} tensors, too few for the {layers} layers of its config.json"
        )
    expected = _expected(config)
    width, source, target = config.d_model, config.vocab_size, config.target_size
    tables = {
        "model.shared.weight": (source, width),
        "model.encoder.embed_tokens.weight": (source, width),
        "model.decoder.embed_tokens.weight": (target, width),
        "lm_head.weight": (target, width),
        "final_logits_bias": (1, target),
    }
    for name, shape in sizes.items():
        wanted = expected.get(name, tables.get(name))
        if wanted is None and not _POSITIONS.fullmatch(name) and name not in _LEFT_ALONE:
            raise ModelFolderError(
                f"{folder}: has an unknown tensor `{name}`; it is no {config.model_type} that regard reads"
            )
        if wanted is not None and shape != wanted:
            raise ModelFolderError(
                f"{folder}: tensor `{name}` has shape {list(shape)}, and its config.json asks {list(wanted)}"
            )
    for name in expected:
        if name not in sizes:
            raise ModelFolderError(f"{folder}: lacks tensor `{name}`, which its config.json asks for")
    _check_tables(folder, sizes, config)


def _check_tables(folder: Path, sizes: dict[str, tuple[int, ...]], config: HuggingFaceConfig) -> None:
    """Refuse a folder without embeddings, or without the output layer that its configuration asks for."""
    has_shared = "model.shared.weight" in sizes and not config.separate
    for side in ("encoder", "decoder"):
        if not has_shared and f"model.{side}.embed_tokens.weight" not in sizes:
            raise ModelFolderError(f"{folder}: lacks the embedding of its {side}")
    if not config.tie_word_embeddings and "lm_head.weight" not in sizes:
        raise ModelFolderError(f"{folder}: lacks tensor `lm_head.weight`, for its config.json does not tie the output")


def _tables(weights: dict[str, Tensor], config: HuggingFaceConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings of source and target, and the output layer, tied as transformers ties them."""
    shared = None if config.separate else weights.get("model.shared.weight")
    source = weights.get("model.encoder.embed_tokens.weight", shared)
    target = weights.get("model.decoder.embed_tokens.weight", shared)
    if config.tie_word_embeddings and shared is not None:
        source = target = shared
    assert source is not None
    assert target is not None
    return source, target, target if config.tie_word_embeddings else weights["lm_head.weight"]


def _check_positions(folder: Path, weights: dict[str, Tensor], config: HuggingFaceConfig) -> None:
    """Refuse positions that are stored and are not the waves that regard would put in their place."""
    for name in [name for name in weights if _POSITIONS.fullmatch(name)]:
        table = weights[name]
        if config.model_type == "m2m_100":
            continue  # made anew by transformers, whatever is stored
        waves = concatenated_sinusoids(len(table), config.d_model).float() if table.dim() == 2 else None
        if waves is None or table.shape != waves.shape or not torch.allclose(table, waves, atol=_TOLERANCE, rtol=0):
            raise ModelFolderError(
                f"{folder}: tensor `{name}` is not the waves of {config.model_type}; regard has no form for it"
            )


def _renumbered(table: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Rows in the order of our token numbers; a token that is not there is zero."""
    if not isinstance(tokenizer, ImportedTokenizer):
        return table
    order = torch.tensor(tokenizer.order)
    return table[order.clamp(min=0)] * (order >= 0)[:, None]


def _renumbered_bias(bias: Tensor, tokenizer: Tokenizer) -> Tensor:
    """The same for the output's bias; a mark that only copies a token is never said, and takes no probability."""
    if not isinstance(tokenizer, ImportedTokenizer):
        return bias
    renumbered = bias[torch.tensor(tokenizer.order).clamp(min=0)].clone()
    renumbered[tokenizer.copies] = NEVER
    return renumbered
