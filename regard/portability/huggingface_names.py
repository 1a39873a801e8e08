"""Our weights under the names of transformers' Marian, Pegasus and M2M100, which name their layers alike; and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer
from regard.nn.feed_forward import FeedForward
from regard.portability import parts
from regard.portability.parts import AttentionParts, Pair

_PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
_INTO_WIDTH = ("out_proj.weight", "fc2.weight")
_FROM_WIDTH = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "fc1.weight", "embed_tokens.weight", "shared.weight")


def layer_weights(model: Transformer) -> dict[str, Tensor]:
    """All weights but embeddings and the output layer."""
    named: dict[str, Pair] = {}
    for number, encoder_layer in enumerate(parts.encoder_layers(model)):
        named |= _common(f"model.encoder.layers.{number}", encoder_layer)
    for number, layer in enumerate(parts.decoder_layers(model)):
        prefix = f"model.decoder.layers.{number}"
        named |= _common(prefix, layer)
        named |= _attention(f"{prefix}.encoder_attn", parts.cross_attention_parts(layer.cross))
        named[f"{prefix}.encoder_attn_layer_norm"] = parts.pair(layer.cross_residual.norm)
    if isinstance(model.encoder_norm, torch.nn.LayerNorm) and isinstance(model.decoder_norm, torch.nn.LayerNorm):
        named["model.encoder.layer_norm"] = parts.pair(model.encoder_norm)
        named["model.decoder.layer_norm"] = parts.pair(model.decoder_norm)
    return {f"{name}.{kind}": tensor for name, pair in named.items() for kind, tensor in _weight_and_bias(pair)}


def our_layer_names(encoder_layers: int, decoder_layers: int, final_norms: bool) -> Iterator[tuple[str, list[str]]]:
    """Our name of each weight outside embeddings and output, and theirs: several where ours packs them in one."""
    for side, count in (("encoder", encoder_layers), ("decoder", decoder_layers)):
        for number in range(count):
            ours, theirs = f"{side}.{number}", f"model.{side}.layers.{number}"
            modules = {
                "attention.query_key_value": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
                "attention.output": ["self_attn.out_proj"],
                "attention_residual.norm": ["self_attn_layer_norm"],
                "feed_forward.inner": ["fc1"],
                "feed_forward.outer": ["fc2"],
                "feed_forward_residual.norm": ["final_layer_norm"],
            }
            if side == "decoder":
                modules |= {
                    "cross.query": ["encoder_attn.q_proj"],
                    "cross.key_value": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
                    "cross.output": ["encoder_attn.out_proj"],
                    "cross_residual.norm": ["encoder_attn_layer_norm"],
                }
            for kind in ("weight", "bias"):
                for name, names in modules.items():
                    yield f"{ours}.{name}.{kind}", [f"{theirs}.{each}.{kind}" for each in names]
        if final_norms:
            for kind in ("weight", "bias"):
                yield f"{side}_norm.{kind}", [f"model.{side}.layer_norm.{kind}"]


def interleaved_to_halves(width: int) -> Tensor:
    """Where the elements of a vector come from, [width], so that sines come first and then cosines."""
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])


def reorder_width(weights: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    """The same model with the elements of every token's vector in another order: all that reads or writes them moves.

    Inside heads and feed-forward networks nothing moves, and layer norm does not see the order.
    """
    return {name: _reordered(name, tensor, order) for name, tensor in weights.items()}


def _reordered(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    if name.endswith(_INTO_WIDTH):
        return tensor[order]
    if name.endswith(_FROM_WIDTH) or name == "lm_head.weight":
        return tensor[:, order]
    in_width = "layer_norm." in name or name.endswith(("out_proj.bias", "fc2.bias"))
    return tensor[order] if in_width else tensor


def _common(prefix: str, layer: EncoderLayer | DecoderLayer) -> dict[str, Pair]:
    """What layers of encoder and decoder both have."""
    assert isinstance(layer.feed_forward, FeedForward)
    return {
        **_attention(f"{prefix}.self_attn", parts.self_attention_parts(layer.attention)),
        f"{prefix}.self_attn_layer_norm": parts.pair(layer.attention_residual.norm),
        f"{prefix}.fc1": parts.pair(layer.feed_forward.inner),
        f"{prefix}.fc2": parts.pair(layer.feed_forward.outer),
        f"{prefix}.final_layer_norm": parts.pair(layer.feed_forward_residual.norm),
    }


def _attention(prefix: str, attention: AttentionParts) -> dict[str, Pair]:
    return {f"{prefix}.{_PROJECTIONS[name]}": pair for name, pair in attention.named().items()}


def _weight_and_bias(pair: Pair) -> tuple[tuple[str, Tensor], tuple[str, Tensor]]:
    return ("weight", pair[0]), ("bias", pair[1])
