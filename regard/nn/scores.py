"""Attention proper: from queries, keys and values to their weighted sum, with one class for each score function."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.native.attention import suits
from regard.nn.randomness import Dropout


class Attend(nn.Module):
    """softmax(score(Q, K)) V, for queries q [B, H, Q, E], keys k and values v [B, H, K, E].

    A subclass says what the score is: either a dot product after `query`, times `scale`, which has a fast form;
    or any function of q and k, by `score`.
    """

    scale: float | None = 1.0
    """The factor on the dot product; None where the score is no dot product."""
    plain = False
    """Whether the score is `scale` times the dot product of query and key, and nothing else."""

    def __init__(self, heads: int, head_width: int, dropout: Dropout) -> None:
        super().__init__()
        self.heads, self.head_width = heads, head_width
        self.dropout = dropout

    def query(self, q: Tensor) -> Tensor:
        """What of q [B, H, Q, E] meets the key in the dot product."""
        return q

    def score(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores [B, H, Q, K]."""
        return self.query(q) @ k.transpose(-2, -1) * (self.scale or 1.0)

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The weighted sum [B, H, Q, E] and, on request, the weights [B, H, Q, K].

        `mask` broadcasts to [B, H, Q, K] and is True where the query may attend.
        """
        if need_weights or self.scale is None or self.dropout.active:
            return self.reference(q, k, v, mask)
        return F.scaled_dot_product_attention(self.query(q), k, v, attn_mask=mask, scale=self.scale), None

    def shortcut(self, query: Tensor, key: Tensor, need_weights: bool) -> float | None:
        """The scale, where attention of queries [B, Q, D] to keys [B, K, D] may take the kernel for short sequences."""
        usable = self.plain and not need_weights and not self.dropout.active and suits(query, key, self.heads)
        return self.scale if usable else None

    def reference(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The plain form, which every fast one must equal."""
        scores = self.score(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return self.dropout(weights) @ v, weights


class Dot(Attend):
    """score = q · k"""

    plain = True


class ScaledDot(Attend):
    """score = q · k / √E, so that its variance does not grow with the width of a head."""

    plain = True

    def __init__(self, heads: int, head_width: int, dropout: Dropout) -> None:
        super().__init__(heads, head_width, dropout)
        self.scale = 1 / math.sqrt(head_width)


class General(Attend):
    """score = qᵀ W k, "multiplicative" or "general" attention (Luong et al., 2015), with one W for each head."""

    def __init__(self, heads: int, head_width: int, dropout: Dropout) -> None:
        super().__init__(heads, head_width, dropout)
        self.weight = nn.Parameter(torch.empty(heads, head_width, head_width))
        nn.init.normal_(self.weight, std=1 / head_width)

    def query(self, q: Tensor) -> Tensor:
        return q @ self.weight


class Additive(Attend):
    """score = uᵀ tanh(W q + W' k), a network with one hidden layer (Bahdanau et al., 2015), one for each head."""

    scale = None

    def __init__(self, heads: int, head_width: int, dropout: Dropout) -> None:
        super().__init__(heads, head_width, dropout)
        self.query_weight = nn.Parameter(torch.empty(heads, head_width, head_width))
        self.key_weight = nn.Parameter(torch.empty(heads, head_width, head_width))
        self.direction = nn.Parameter(torch.empty(heads, head_width, 1))
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=head_width**-0.5)

    def score(self, q: Tensor, k: Tensor) -> Tensor:
        hidden = torch.tanh((q @ self.query_weight)[:, :, :, None] + (k @ self.key_weight)[:, :, None])
        return (hidden @ self.direction[:, None]).squeeze(-1)


SCORES: dict[str, Callable[[int, int, Dropout], Attend]] = {
    "scaled-dot": ScaledDot,
    "dot": Dot,
    "general": General,
    "additive": Additive,
}
