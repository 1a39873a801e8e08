"""Multi-head attention: of a sequence to itself, and of a decoder to what the encoder made."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.native.attention import cross_attention, self_attention
from regard.nn.linear import linear
from regard.nn.positions import Rotation
from regard.nn.scores import Attend

PROJECTION_GAIN = 2**-0.5
"""Queries, keys and values start a little smaller, as if drawn for one matrix that makes all three."""


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, H * E] to [B, H, T, E]."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """[B, H, T, E] to [B, T, H * E]."""
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Queries, keys and values all come from one sequence; one matrix makes the three.

    The last layer, `output`, is left to the residual connection, which knows what is best done along with it.
    """

    def __init__(self, width: int, attend: Attend, rotation: Rotation | None = None) -> None:
        super().__init__()
        self.attend = attend
        self.rotation = rotation
        self.query_key_value = linear(width, width, parts=3, gain=PROJECTION_GAIN)
        self.output = linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None, need_weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """From x [B, T, D] to what `output` expects [B, T, D] and, on request, weights [B, H, T, T]."""
        scale = self.attend.shortcut(x, x, need_weights)
        if scale is not None:
            packed, bias = F.linear(x, self.query_key_value.weight), self.query_key_value.bias
            return self_attention(packed, bias, self.attend.heads, mask, scale, self.turns(x)), None
        query, key, value = self._heads(x, start=0)
        attended, weights = self.attend(query, key, value, mask, need_weights)
        return join_heads(attended), weights

    def step(self, x: Tensor, past: tuple[Tensor, Tensor] | None, need_weights: bool = False) -> _Step:
        """One new position x [R, 1, D], after `past` keys and values [R, H, t, E]; gives the longer past too."""
        query, key, value = self._heads(x, start=0 if past is None else past[0].size(2))
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        attended, weights = self.attend(query, key, value, None, need_weights)
        return join_heads(attended), weights, (key, value)

    def turns(self, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """By how much queries and keys of x [B, T, D] are turned, as `Rotation.tables` has it; None: not at all."""
        return None if self.rotation is None else self.rotation.tables(0, x.size(1), x)

    def _heads(self, x: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (split_heads(part, self.attend.heads) for part in self.query_key_value(x).chunk(3, dim=-1))
        if self.rotation is not None:
            query, key = self.rotation(query, start), self.rotation(key, start)
        return query, key, value


_Step = tuple[Tensor, Tensor | None, tuple[Tensor, Tensor]]


class CrossAttention(nn.Module):
    """Queries come from the decoder; keys and values from the encoder's output. `output` is the residual's to apply."""

    def __init__(self, width: int, attend: Attend) -> None:
        super().__init__()
        self.attend = attend
        self.query = linear(width, width, gain=PROJECTION_GAIN)
        self.key_value = linear(width, width, parts=2, gain=PROJECTION_GAIN)
        self.output = linear(width, width)

    def keys_and_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What memory [B, S, D] offers to every query: keys and values [B, H, S, E]."""
        key, value = (split_heads(part, self.attend.heads) for part in self.key_value(memory).chunk(2, dim=-1))
        return key, value

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """From x [B, T, D] and memory [B, S, D] to what `output` expects and, on request, weights [B, H, T, S]."""
        scale = self.attend.shortcut(x, memory, need_weights)
        if scale is None:
            return self.step(x, self.keys_and_values(memory), mask, need_weights)
        query, packed = F.linear(x, self.query.weight), F.linear(memory, self.key_value.weight)
        biases = self.query.bias, self.key_value.bias
        return cross_attention(query, biases[0], packed, biases[1], self.attend.heads, mask, scale), None

    def step(
        self, x: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The same, with the memory's keys and values made before."""
        attended, weights = self.attend(split_heads(self.query(x), self.attend.heads), *memory, mask, need_weights)
        return join_heads(attended), weights
