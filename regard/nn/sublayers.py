"""A Transformer's sub-layers, each with the residual connection around it: in C where that is faster, and equal."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from regard.native.sublayers import AttentionWeights, Norm, attention_sublayer, feed_forward_sublayer, suits_sublayer
from regard.nn.attention import CrossAttention, SelfAttention
from regard.nn.feed_forward import AnyFeedForward, FeedForward
from regard.nn.residual import PreNorm, Residual


def attend_to_self(
    attention: SelfAttention, residual: Residual, x: Tensor, mask: Tensor | None, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """From x [B, T, D] to [B, T, D] and, on request, weights [B, H, T, T]."""
    scale = attention.attend.shortcut(x, x, need_weights)
    if scale is not None and suits_sublayer(x):
        weights = AttentionWeights(_pair(attention.query_key_value), None, _pair(attention.output))
        norm, heads, turns = _norm(residual, x), attention.attend.heads, attention.turns(x)
        return attention_sublayer(x, None, weights, norm, heads, mask, scale, turns), None
    attended, shares = attention(residual.enter(x), mask, need_weights)
    return residual.leave(x, attended, attention.output), shares


def attend_to_memory(
    attention: CrossAttention, residual: Residual, x: Tensor, memory: Tensor, mask: Tensor | None, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """From x [B, T, D] and memory [B, S, D] to [B, T, D] and, on request, weights [B, H, T, S]."""
    scale = attention.attend.shortcut(x, memory, need_weights)
    if scale is not None and suits_sublayer(x):
        weights = AttentionWeights(_pair(attention.query), _pair(attention.key_value), _pair(attention.output))
        return attention_sublayer(x, memory, weights, _norm(residual, x), attention.attend.heads, mask, scale), None
    attended, shares = attention(residual.enter(x), memory, mask, need_weights)
    return residual.leave(x, attended, attention.output), shares


def transform(network: AnyFeedForward, residual: Residual, x: Tensor) -> Tensor:
    """From x [B, T, D] to [B, T, D], each position by itself."""
    plain = isinstance(network, FeedForward) and network.activation is F.relu and not network.dropout.active
    if plain and suits_sublayer(x, network.outer.in_features):
        assert isinstance(network, FeedForward)
        return feed_forward_sublayer(x, _pair(network.inner), _pair(network.outer), _norm(residual, x))
    return residual.leave(x, network(residual.enter(x)), network.outer)


def _pair(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    return layer.weight, layer.bias


def _norm(residual: Residual, x: Tensor) -> Norm:
    norm = residual.norm
    return Norm(norm.weight, norm.bias, norm.eps, isinstance(residual, PreNorm), residual.dropout.mask(x))
