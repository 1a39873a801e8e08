"""The encoder-decoder Transformer of "Attention Is All You Need"."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.models.contract import Memory, Record, SequenceToSequence, State
from regard.native.parts import DecoderLayerParts, EmbeddingParts, EncoderLayerParts, TransformerParts
from regard.nn.attention import CrossAttention, SelfAttention
from regard.nn.embedding import Positions, TokenEmbedding
from regard.nn.feed_forward import AnyFeedForward, FeedForward, build_feed_forward
from regard.nn.linear import linear
from regard.nn.masks import causal, padding_mask, pattern_mask
from regard.nn.positions import FixedPositions, LearnedPositions, NoPositions, Rotation
from regard.nn.randomness import Dropout, Randomness
from regard.nn.residual import RESIDUALS, Residual
from regard.nn.scores import SCORES, Attend
from regard.nn.sublayers import attend_to_memory, attend_to_self, transform


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each inside a residual connection."""

    def __init__(self, attention: SelfAttention, feed_forward: AnyFeedForward, residuals: list[Residual]) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual, self.feed_forward_residual = residuals

    def forward(self, x: Tensor, mask: Tensor | None, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """From x [B, S, D] to [B, S, D] and, on request, attention weights [B, H, S, S]."""
        x, weights = attend_to_self(self.attention, self.attention_residual, x, mask, need_weights)
        return transform(self.feed_forward, self.feed_forward_residual, x), weights


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, then a feed-forward network."""

    def __init__(
        self, attention: SelfAttention, cross: CrossAttention, feed_forward: AnyFeedForward, residuals: list[Residual]
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross = cross
        self.feed_forward = feed_forward
        self.attention_residual, self.cross_residual, self.feed_forward_residual = residuals

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """From x [B, T, D] to [B, T, D] and, on request, self- [B, H, T, T] and cross-weights [B, H, T, S]."""
        x, weights = attend_to_self(self.attention, self.attention_residual, x, mask, need_weights)
        x, shares = attend_to_memory(self.cross, self.cross_residual, x, memory, memory_mask, need_weights)
        return transform(self.feed_forward, self.feed_forward_residual, x), weights, shares

    def step(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor] | None,
        memory: tuple[Tensor, Tensor],
        memory_mask: Tensor,
        record: Record | None,
        number: int,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One position x [R, 1, D] of R = B * K hypotheses; the memory has one row for each of B sentences."""
        attended, weights, past = self.attention.step(self.attention_residual.enter(x), past, record is not None)
        x = self.attention_residual.leave(x, attended, self.attention.output)
        entered = self.cross_residual.enter(x).view(memory_mask.size(0), -1, x.size(-1))
        attended, cross_weights = self.cross.step(entered, memory, memory_mask[:, None, None, :], record is not None)
        x = self.cross_residual.leave(x, attended.view_as(x), self.cross.output)
        _record(record, f"decoder.{number}", weights)
        _record(record, f"cross.{number}", cross_weights)
        return transform(self.feed_forward, self.feed_forward_residual, x), past


class Transformer(SequenceToSequence):
    """Embeddings, a stack of encoder layers, a stack of decoder layers, and the output layer."""

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        encoder: list[EncoderLayer],
        decoder: list[DecoderLayer],
        final_norms: tuple[nn.Module, nn.Module],
        output: nn.Linear,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = nn.ModuleList(encoder)
        self.decoder = nn.ModuleList(decoder)
        self.encoder_norm, self.decoder_norm = final_norms
        self.output = output

    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        x = self.source_embedding(source)
        mask = padding_mask(source_mask)
        for number, layer in enumerate(self.encoder):
            x, weights = layer(x, mask, record is not None)
            _record(record, f"encoder.{number}", weights)
        return Memory(self.encoder_norm(x), source_mask)

    def decode(self, target: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        x = self.target_embedding(target)
        mask = pattern_mask(causal, target.size(1), target.size(1), target.device)
        memory_mask = padding_mask(memory.mask)
        for number, layer in enumerate(self.decoder):
            x, weights, cross_weights = layer(x, mask, memory.states, memory_mask, record is not None)
            _record(record, f"decoder.{number}", weights)
            _record(record, f"cross.{number}", cross_weights)
        features: Tensor = self.decoder_norm(x)
        return features

    def parts(self) -> TransformerParts | None:
        """What the engine in C needs; None where it has no form for one of the parts."""
        layers: list[EncoderLayer | DecoderLayer] = [*self._encoder_layers(), *self._decoder_layers()]
        attends: list[Attend] = [layer.attention.attend for layer in layers]
        attends += [layer.cross.attend for layer in self._decoder_layers()]
        plain = all(attend.plain and attend.scale is not None for attend in attends)
        if not plain or not all(_has_relu(layer.feed_forward) for layer in layers):
            return None
        rotation = layers[0].attention.rotation
        encoder_norm, decoder_norm = (
            norm if isinstance(norm, nn.LayerNorm) else None for norm in (self.encoder_norm, self.decoder_norm)
        )
        return TransformerParts(
            source=_embedding_parts(self.source_embedding),
            target=_embedding_parts(self.target_embedding),
            encoder=[_encoder_parts(layer) for layer in self._encoder_layers()],
            decoder=[_decoder_parts(layer) for layer in self._decoder_layers()],
            heads=attends[0].heads,
            score_scale=attends[0].scale or 1.0,
            rotation=None if rotation is None else lambda count: rotation.tables(0, count, self.output.weight),
            encoder_norm=encoder_norm,
            decoder_norm=decoder_norm,
            output=self.output,
        )

    def _encoder_layers(self) -> list[EncoderLayer]:
        return [layer for layer in self.encoder if isinstance(layer, EncoderLayer)]

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]

    def start(self, memory: Memory) -> State:
        fixed = {"mask": memory.mask}
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            fixed[f"{number}.keys"], fixed[f"{number}.values"] = layer.cross.keys_and_values(memory.states)
        return State(fixed, {})

    def step(self, tokens: Tensor, state: State, record: Record | None = None) -> tuple[Tensor, State]:
        past = state.moving
        x = self.target_embedding(tokens[:, None], start=past["0.keys"].size(2) if past else 0)
        moving: dict[str, Tensor] = {}
        for number, layer in enumerate(self.decoder):
            keys, values = f"{number}.keys", f"{number}.values"
            assert isinstance(layer, DecoderLayer)
            x, (moving[keys], moving[values]) = layer.step(
                x,
                (past[keys], past[values]) if past else None,
                (state.fixed[keys], state.fixed[values]),
                state.fixed["mask"],
                record,
                number,
            )
        return self.output(self.decoder_norm(x[:, 0])), State(state.fixed, moving)


def _has_relu(feed_forward: AnyFeedForward) -> bool:
    return isinstance(feed_forward, FeedForward) and feed_forward.activation is F.relu


def _embedding_parts(embedding: TokenEmbedding) -> EmbeddingParts:
    return EmbeddingParts(embedding.table.weight, embedding.positions.table, embedding.scale)


def _encoder_parts(layer: EncoderLayer) -> EncoderLayerParts:
    assert isinstance(layer.feed_forward, FeedForward)
    return EncoderLayerParts(
        query_key_value=layer.attention.query_key_value,
        attention_output=layer.attention.output,
        inner=layer.feed_forward.inner,
        outer=layer.feed_forward.outer,
        attention_norm=layer.attention_residual.norm,
        feed_forward_norm=layer.feed_forward_residual.norm,
    )


def _decoder_parts(layer: DecoderLayer) -> DecoderLayerParts:
    assert isinstance(layer.feed_forward, FeedForward)
    return DecoderLayerParts(
        query_key_value=layer.attention.query_key_value,
        attention_output=layer.attention.output,
        query=layer.cross.query,
        key_value=layer.cross.key_value,
        cross_output=layer.cross.output,
        inner=layer.feed_forward.inner,
        outer=layer.feed_forward.outer,
        attention_norm=layer.attention_residual.norm,
        cross_norm=layer.cross_residual.norm,
        feed_forward_norm=layer.feed_forward_residual.norm,
    )


def _record(record: Record | None, name: str, weights: Tensor | None) -> None:
    if record is not None and weights is not None:
        record(name, weights)


def build_transformer(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, randomness: Randomness
) -> Transformer:
    """Choose and put together the parts that a configuration asks for."""
    width, heads = config.width, config.heads

    def dropout(probability: float) -> Dropout:
        return Dropout(probability, randomness)

    def attend() -> Attend:
        return SCORES[config.score](heads, width // heads, dropout(config.attention_dropout))

    def self_attention() -> SelfAttention:
        return SelfAttention(width, attend(), Rotation(width // heads) if config.positions == "rotary" else None)

    def feed_forward() -> AnyFeedForward:
        inner_dropout = dropout(config.activation_dropout)
        return build_feed_forward(width, config.feed_forward, config.activation, inner_dropout)

    def residuals(count: int) -> list[Residual]:
        return [RESIDUALS[config.norm](width, dropout(config.dropout)) for _ in range(count)]

    def embedding(table: nn.Embedding) -> TokenEmbedding:
        positions, words = _positions(config), dropout(config.word_dropout) if config.word_dropout else None
        return TokenEmbedding(table, config.scale_embeddings, positions, dropout(config.dropout), words)

    def final_norm() -> nn.Module:
        return nn.LayerNorm(width) if config.norm == "pre" else nn.Identity()

    target_table = _embedding_table(target_vocabulary, width)
    source_table = target_table if config.tie == "three-way" else _embedding_table(source_vocabulary, width)
    output = linear(width, target_vocabulary) if config.output_bias else nn.Linear(width, target_vocabulary, bias=False)
    output.weight = (_embedding_table(target_vocabulary, width) if config.tie == "none" else target_table).weight
    model = Transformer(
        embedding(source_table),
        embedding(target_table),
        [EncoderLayer(self_attention(), feed_forward(), residuals(2)) for _ in range(config.encoder_layers)],
        [
            DecoderLayer(self_attention(), CrossAttention(width, attend()), feed_forward(), residuals(3))
            for _ in range(config.decoder_layers)
        ],
        (final_norm(), final_norm()),
        output,
    )
    model.randomness = randomness
    return model


def _positions(config: ModelConfig) -> Positions:
    if config.positions == "learned":
        return LearnedPositions(config.max_positions, config.width)
    if config.positions in ("sinusoidal", "concatenated"):
        return FixedPositions(config.width, concatenated=config.positions == "concatenated")
    return NoPositions()


def _embedding_table(vocabulary: int, width: int) -> nn.Embedding:
    """Vectors of variance 1/D, so of variance 1 once scaled by the square root of D."""
    table = nn.Embedding(vocabulary, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
