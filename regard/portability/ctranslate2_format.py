"""Export to CTranslate2: a folder that `ctranslate2.Translator` opens, in float32 or with weights of 8 bits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID, SPECIAL_TOKENS, UNK_ID
from regard.models.folder import LoadedModel
from regard.models.transformer import Transformer
from regard.nn.feed_forward import AnyFeedForward, FeedForward
from regard.nn.residual import Residual
from regard.portability import optional, parts
from regard.portability.parts import AttentionParts, Pair

NAME = "CTranslate2"
QUANTIZATIONS = ("float32", "int8")
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gated-gelu": "GELU", "swiglu": "SWISH", "swish": "SWISH"}


def write_ctranslate2(loaded: LoadedModel, folder: Path, quantization: str, where: Path) -> tuple[str, ...]:
    """Write the model of the folder `where` into an empty folder, with its tokenizers beside it."""
    optional.ctranslate2()
    spec = _specification(loaded, where)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    loaded.tokenizers.save(folder)
    return ()


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """The tokens by id, as the library of the tokenizer gives them: what a program feeds to CTranslate2."""
    return list(tokenizer.learned.pieces)


def _specification(loaded: LoadedModel, where: str | Path) -> Any:
    specs = optional.ctranslate2().specs
    model, config = parts.transformer(loaded, where, NAME), loaded.config.model
    parts.refuse_scores(loaded, where, NAME)
    layers = optional.ctranslate2().specs.transformer_spec
    options: dict[str, Any] = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": getattr(specs.Activation, _ACTIVATIONS[config.activation]),
        "ffn_glu": config.activation in ("gated-gelu", "swiglu"),
    }
    if config.positions == "rotary":
        options |= {"rotary_dim": config.width // config.heads, "rotary_interleave": True}
    spec = specs.TransformerSpec(
        layers.TransformerEncoderSpec(config.encoder_layers, **options),
        layers.TransformerDecoderSpec(config.decoder_layers, **options),
    )
    _fill_embeddings(spec, loaded, model)
    for target, layer in zip(spec.encoder.layer, parts.encoder_layers(model), strict=True):
        attention = parts.self_attention_parts(layer.attention)
        _fill_self_attention(target.self_attention, attention, layer.attention_residual)
        _fill_feed_forward(target.ffn, layer.feed_forward, layer.feed_forward_residual)
    for target, decoder_layer in zip(spec.decoder.layer, parts.decoder_layers(model), strict=True):
        attention = parts.self_attention_parts(decoder_layer.attention)
        _fill_self_attention(target.self_attention, attention, decoder_layer.attention_residual)
        _fill_cross_attention(
            target.attention, parts.cross_attention_parts(decoder_layer.cross), decoder_layer.cross_residual
        )
        _fill_feed_forward(target.ffn, decoder_layer.feed_forward, decoder_layer.feed_forward_residual)
    spec.config.layer_norm_epsilon = 1e-5
    _fill_vocabularies(spec, loaded)
    return spec


def _fill_embeddings(spec: Any, loaded: LoadedModel, model: Transformer) -> None:
    config = loaded.config.model
    spec.encoder.embeddings[0].weight = _array(model.source_embedding.table.weight)
    spec.decoder.embeddings.weight = _array(model.target_embedding.table.weight)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = config.scale_embeddings
    for side, table, limit in zip(
        (spec.encoder, spec.decoder),
        parts.position_tables(loaded, model),
        parts.position_limits(loaded),
        strict=True,
    ):
        # Without a table CTranslate2 would add waves of its own; zeros add nothing.
        if hasattr(side, "position_encodings"):
            side.position_encodings.encodings = _array(torch.zeros(limit, config.width) if table is None else table)
    for side, norm in ((spec.encoder, model.encoder_norm), (spec.decoder, model.decoder_norm)):
        if isinstance(norm, nn.LayerNorm):
            _fill_norm(side.layer_norm, parts.pair(norm))
    spec.decoder.projection.weight = _array(model.output.weight)
    if model.output.bias is not None:
        spec.decoder.projection.bias = _array(model.output.bias)


def _fill_vocabularies(spec: Any, loaded: LoadedModel) -> None:
    spec.register_source_vocabulary(vocabulary(loaded.tokenizers.source))
    spec.register_target_vocabulary(vocabulary(loaded.tokenizers.target))
    spec.config.bos_token = spec.config.decoder_start_token = SPECIAL_TOKENS[BOS_ID]
    spec.config.eos_token, spec.config.unk_token = SPECIAL_TOKENS[EOS_ID], SPECIAL_TOKENS[UNK_ID]
    spec.config.add_source_bos, spec.config.add_source_eos = False, True


def _fill_self_attention(target: Any, attention: AttentionParts, residual: Residual) -> None:
    _fill_linear(target.linear[0], _packed([attention.query, attention.key, attention.value]))
    _fill_linear(target.linear[1], attention.output)
    _fill_norm(target.layer_norm, parts.pair(residual.norm))


def _fill_cross_attention(target: Any, attention: AttentionParts, residual: Residual) -> None:
    _fill_linear(target.linear[0], attention.query)
    _fill_linear(target.linear[1], _packed([attention.key, attention.value]))
    _fill_linear(target.linear[2], attention.output)
    _fill_norm(target.layer_norm, parts.pair(residual.norm))


def _fill_feed_forward(target: Any, network: AnyFeedForward, residual: Residual) -> None:
    if isinstance(network, FeedForward):
        _fill_linear(target.linear_0, parts.pair(network.inner))
    else:
        weights, biases = network.gate_and_inner.weight.chunk(2), network.gate_and_inner.bias.chunk(2)
        _fill_linear(target.linear_0, (weights[0], biases[0]))
        _fill_linear(target.linear_0_noact, (weights[1], biases[1]))
    _fill_linear(target.linear_1, parts.pair(network.outer))
    _fill_norm(target.layer_norm, parts.pair(residual.norm))


def _packed(pairs: Sequence[Pair]) -> Pair:
    return torch.cat([weight for weight, _ in pairs]), torch.cat([bias for _, bias in pairs])


def _fill_linear(target: Any, pair: Pair) -> None:
    target.weight, target.bias = _array(pair[0]), _array(pair[1])


def _fill_norm(target: Any, pair: Pair) -> None:
    target.gamma, target.beta = _array(pair[0]), _array(pair[1])


def _array(tensor: Tensor) -> Any:
    """A copy, for the library rounds in place."""
    return np.array(tensor.detach().float().cpu().numpy(), order="C", copy=True)
