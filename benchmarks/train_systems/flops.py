"""The matrix products of a training step, counted: which there are, and how much work a target token needs."""

from __future__ import annotations

from dataclasses import dataclass

from train_systems.settings import Shape

PASSES = 3
"""A product x W of a linear layer comes back twice: for the gradient by x and for the gradient by W."""


@dataclass(frozen=True)
class Product:
    """rows x inner times inner x outer: a linear layer over `rows` tokens, found `count` times in the model."""

    name: str
    rows: int
    inner: int
    outer: int
    count: int

    @property
    def flops(self) -> float:
        """Multiplications and additions of the forward product, all `count` of them."""
        return 2.0 * self.rows * self.inner * self.outer * self.count


def products(shape: Shape, vocabulary: int, source_tokens: int, target_tokens: int) -> list[Product]:
    """The products with weights in one forward pass over so many real tokens.

    Queries, keys and values of a self-attention are one product, and so are keys and values of a cross-attention. The
    products inside attention (queries by keys, weights by values) are not counted: they are some 2 % of the work
    here, and leaving them out makes the share that is reached look smaller, not larger.
    """
    width, inner = shape.width, shape.feed_forward
    encoder, decoder = shape.encoder_layers, shape.decoder_layers
    return [
        Product("encoder: queries, keys, values", source_tokens, width, 3 * width, encoder),
        Product("encoder: out of attention", source_tokens, width, width, encoder),
        Product("encoder: into feed-forward", source_tokens, width, inner, encoder),
        Product("encoder: out of feed-forward", source_tokens, inner, width, encoder),
        Product("decoder: keys, values of the source", source_tokens, width, 2 * width, decoder),
        Product("decoder: queries, keys, values", target_tokens, width, 3 * width, decoder),
        Product("decoder: queries, and out of both attentions", target_tokens, width, width, 3 * decoder),
        Product("decoder: into feed-forward", target_tokens, width, inner, decoder),
        Product("decoder: out of feed-forward", target_tokens, inner, width, decoder),
        Product("output", target_tokens, width, vocabulary, 1),
    ]


def flops_per_target_token(shape: Shape, vocabulary: int, source_tokens: int, target_tokens: int) -> float:
    """The work of training on one target token, with its share of the source: forward and both gradients."""
    forward = sum(product.flops for product in products(shape, vocabulary, source_tokens, target_tokens))
    return PASSES * forward / target_tokens
