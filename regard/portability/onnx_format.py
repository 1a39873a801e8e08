"""Export to ONNX: `encoder.onnx`, and `decoder.onnx`, which takes one token and the keys and values of those before it.

The graphs are written operation by operation, so every variant of the model has its form, and nothing depends on how
a tracer sees our C kernels.
"""

from __future__ import annotations

import json
from pathlib import Path

from torch import Tensor, nn

from regard.atomic import write_file
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from regard.models.folder import LoadedModel
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer
from regard.nn.embedding import TokenEmbedding
from regard.nn.feed_forward import AnyFeedForward, FeedForward
from regard.nn.positions import concatenated_sinusoids
from regard.nn.residual import PostNorm, Residual
from regard.nn.scores import Additive, Attend, General
from regard.portability import parts
from regard.portability.onnx_graph import Graph, Shape

NAME = "ONNX"
ENCODER, DECODER, SETTINGS = "encoder.onnx", "decoder.onnx", "config.json"
_NEVER = -3.0e38


def write_onnx(loaded: LoadedModel, folder: Path, quantization: str, where: Path) -> tuple[str, ...]:
    """Write the model of the folder `where` into an empty folder, with its tokenizers beside it."""
    assert quantization == "float32"
    model = parts.transformer(loaded, where, NAME)
    writer = _Writer(loaded, model)
    writer.encoder().save(folder / ENCODER)
    writer.decoder().save(folder / DECODER)
    loaded.tokenizers.save(folder)
    write_file(folder / SETTINGS, (json.dumps(_settings(loaded), indent=2) + "\n").encode())
    return ()


def _settings(loaded: LoadedModel) -> dict[str, object]:
    config, (source, target) = loaded.config.model, parts.position_limits(loaded)
    return {
        "format": "regard-onnx",
        "decoder_layers": config.decoder_layers,
        "heads": config.heads,
        "head_width": config.width // config.heads,
        "source_vocabulary": loaded.tokenizers.source.vocabulary_size,
        "target_vocabulary": loaded.tokenizers.target.vocabulary_size,
        "marks": {"padding": PAD_ID, "beginning": BOS_ID, "end": EOS_ID, "unknown": UNK_ID},
        "longest_source": source,
        "longest_target": target,
    }


class _Writer:
    """Writes both graphs of one model."""

    def __init__(self, loaded: LoadedModel, model: Transformer) -> None:
        self.model, self.config = model, loaded.config.model
        self.heads, self.head_width = self.config.heads, self.config.width // self.config.heads
        self.limits = parts.position_limits(loaded)
        self.tables = parts.position_tables(loaded, model)
        self.waves: tuple[Tensor, Tensor] | None = None
        if self.config.positions == "rotary":
            sine, cosine = concatenated_sinusoids(max(self.limits), self.head_width).float().chunk(2, dim=1)
            self.waves = sine.contiguous(), cosine.contiguous()

    def encoder(self) -> Graph:
        """source [B, S], source_mask [B, S] to the keys and values [B, H, S, E] that each decoder layer attends to."""
        graph = Graph("encoder")
        source = graph.input("source", "INT64", ["sentences", "source_tokens"])
        mask = graph.input("source_mask", "BOOL", ["sentences", "source_tokens"])
        start, length = graph.constant([0]), graph.size(source, 1)
        x = self._embed(graph, source, self.model.source_embedding, self.tables[0], start, length)
        visible = graph.op("Unsqueeze", mask, graph.constant([1, 2]))
        for layer in parts.encoder_layers(self.model):
            x = self._encoder_layer(graph, layer, x, visible, start, length)
        if isinstance(self.model.encoder_norm, nn.LayerNorm):
            x = graph.norm(x, self.model.encoder_norm)
        shape: Shape = ["sentences", self.heads, "source_tokens", self.head_width]
        for number, decoder_layer in enumerate(parts.decoder_layers(self.model)):
            packed = decoder_layer.cross.key_value
            for name, weight, bias in zip(("key", "value"), packed.weight.chunk(2), packed.bias.chunk(2), strict=True):
                heads = self._split(graph, graph.linear(x, weight, bias))
                graph.output(f"cross_{name}_{number}", heads, "FLOAT", shape)
        return graph

    def decoder(self) -> Graph:
        """One token for each of R hypotheses, R a multiple of the B sentences, to logits [R, V] and a longer past."""
        graph = Graph("decoder")
        tokens = graph.input("tokens", "INT64", ["hypotheses"])
        mask = graph.input("source_mask", "BOOL", ["sentences", "source_tokens"])
        memories = self._pasts(graph, "cross", ["sentences", self.heads, "source_tokens", self.head_width])
        pasts = self._pasts(graph, "past", ["hypotheses", self.heads, "past_tokens", self.head_width])
        start = graph.size(pasts[0][0], 2)
        end = graph.op("Add", start, graph.constant([1]))
        column = graph.op("Unsqueeze", tokens, graph.constant([1]))
        x = self._embed(graph, column, self.model.target_embedding, self.tables[1], start, end)
        visible = graph.op("Unsqueeze", mask, graph.constant([1, 2]))
        sentences = graph.size(mask, 0)
        shape: Shape = ["hypotheses", self.heads, "past_tokens + 1", self.head_width]
        for number, layer in enumerate(parts.decoder_layers(self.model)):
            x, present = self._decoder_layer(
                graph, layer, x, pasts[number], memories[number], visible, sentences, start, end
            )
            for name, value in zip(("key", "value"), present, strict=True):
                graph.output(f"present_{name}_{number}", value, "FLOAT", shape)
        if isinstance(self.model.decoder_norm, nn.LayerNorm):
            x = graph.norm(x, self.model.decoder_norm)
        features = graph.op("Squeeze", x, graph.constant([1]))
        output = self.model.output
        biases = [] if output.bias is None else [graph.constant(output.bias, "bias")]
        logits = graph.op("Gemm", features, graph.constant(output.weight, "embedding"), *biases, transB=1)
        graph.output("logits", logits, "FLOAT", ["hypotheses", output.weight.size(0)])
        return graph

    def _pasts(self, graph: Graph, kind: str, shape: Shape) -> list[tuple[str, str]]:
        return [
            (
                graph.input(f"{kind}_key_{number}", "FLOAT", shape),
                graph.input(f"{kind}_value_{number}", "FLOAT", shape),
            )
            for number in range(self.config.decoder_layers)
        ]

    def _embed(
        self, graph: Graph, tokens: str, embedding: TokenEmbedding, table: Tensor | None, start: str, end: str
    ) -> str:
        x = graph.op("Gather", graph.constant(embedding.table.weight, "embedding"), tokens, axis=0)
        if embedding.scale != 1.0:
            x = graph.op("Mul", x, graph.constant(float(embedding.scale)))
        return x if table is None else graph.op("Add", x, graph.rows(table, start, end))

    def _encoder_layer(self, graph: Graph, layer: EncoderLayer, x: str, visible: str, start: str, end: str) -> str:
        query, key, value = self._projected(graph, layer.attention, self._enter(graph, layer.attention_residual, x))
        query, key = (self._rotated(graph, part, start, end) for part in (query, key))
        attended = self._attend(graph, layer.attention.attend, query, key, value, visible)
        x = self._leave(graph, layer.attention_residual, x, attended, layer.attention.output)
        return self._transform(graph, layer.feed_forward, layer.feed_forward_residual, x)

    def _decoder_layer(
        self,
        graph: Graph,
        layer: DecoderLayer,
        x: str,
        past: tuple[str, str],
        memory: tuple[str, str],
        visible: str,
        sentences: str,
        start: str,
        end: str,
    ) -> tuple[str, tuple[str, str]]:
        query, key, value = self._projected(graph, layer.attention, self._enter(graph, layer.attention_residual, x))
        query, key = (self._rotated(graph, part, start, end) for part in (query, key))
        key, value = (graph.op("Concat", old, new, axis=2) for old, new in zip(past, (key, value), strict=True))
        attended = self._attend(graph, layer.attention.attend, query, key, value, None)
        x = self._leave(graph, layer.attention_residual, x, attended, layer.attention.output)
        # The hypotheses of a sentence stand side by side: they become the queries of one row.
        entered = self._enter(graph, layer.cross_residual, x)
        grouped = graph.reshape(entered, sentences, -1, self.config.width)
        query = self._split(graph, graph.linear(grouped, layer.cross.query.weight, layer.cross.query.bias))
        attended = self._attend(graph, layer.cross.attend, query, *memory, visible)
        attended = graph.reshape(attended, -1, 1, self.config.width)
        x = self._leave(graph, layer.cross_residual, x, attended, layer.cross.output)
        return self._transform(graph, layer.feed_forward, layer.feed_forward_residual, x), (key, value)

    def _projected(self, graph: Graph, attention: nn.Module, x: str) -> tuple[str, str, str]:
        packed = attention.query_key_value
        assert isinstance(packed, nn.Linear)
        query, key, value = (
            self._split(graph, graph.linear(x, weight, bias))
            for weight, bias in zip(packed.weight.chunk(3), packed.bias.chunk(3), strict=True)
        )
        return query, key, value

    def _split(self, graph: Graph, x: str) -> str:
        """[B, T, D] to [B, H, T, E]."""
        return graph.op("Transpose", graph.reshape(x, 0, 0, self.heads, self.head_width), perm=[0, 2, 1, 3])

    def _rotated(self, graph: Graph, x: str, start: str, end: str) -> str:
        """Rotary positions of x [B, H, T, E]: the pairs of its elements turned by their angles."""
        if self.waves is None:
            return x
        sine, cosine = (graph.rows(wave, start, end) for wave in self.waves)
        pairs = graph.reshape(x, 0, 0, 0, self.head_width // 2, 2)
        axis = graph.constant([4])
        even, odd = (graph.op("Gather", pairs, graph.constant(place), axis=4) for place in (0, 1))
        turned = [
            graph.op("Sub", graph.op("Mul", even, cosine), graph.op("Mul", odd, sine)),
            graph.op("Add", graph.op("Mul", even, sine), graph.op("Mul", odd, cosine)),
        ]
        stacked = graph.op("Concat", *(graph.op("Unsqueeze", part, axis) for part in turned), axis=4)
        return graph.reshape(stacked, 0, 0, 0, self.head_width)

    def _attend(self, graph: Graph, attend: Attend, query: str, key: str, value: str, visible: str | None) -> str:
        """From heads [B, H, …, E] to joined heads [B, T, D]."""
        if isinstance(attend, Additive):
            left = graph.op("MatMul", query, graph.constant(attend.query_weight, "score"))
            right = graph.op("MatMul", key, graph.constant(attend.key_weight, "score"))
            met = graph.op(
                "Add",
                graph.op("Unsqueeze", left, graph.constant([3])),
                graph.op("Unsqueeze", right, graph.constant([2])),
            )
            direction = graph.constant(attend.direction.detach()[:, None].contiguous(), "score")
            scores = graph.op("MatMul", graph.op("Tanh", met), direction)
            scores = graph.op("Squeeze", scores, graph.constant([4]))
        else:
            if isinstance(attend, General):
                query = graph.op("MatMul", query, graph.constant(attend.weight, "score"))
            scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
            scores = graph.op("Mul", scores, graph.constant(float(attend.scale or 1.0)))
        if visible is not None:
            scores = graph.op("Where", visible, scores, graph.constant(_NEVER))
        attended = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        return graph.reshape(graph.op("Transpose", attended, perm=[0, 2, 1, 3]), 0, 0, self.config.width)

    def _enter(self, graph: Graph, residual: Residual, x: str) -> str:
        return x if isinstance(residual, PostNorm) else graph.norm(x, residual.norm)

    def _leave(self, graph: Graph, residual: Residual, x: str, inner: str, last: nn.Linear) -> str:
        added = graph.op("Add", x, graph.linear(inner, last.weight, last.bias))
        return graph.norm(added, residual.norm) if isinstance(residual, PostNorm) else added

    def _transform(self, graph: Graph, network: AnyFeedForward, residual: Residual, x: str) -> str:
        entered, name = self._enter(graph, residual, x), self.config.activation
        if isinstance(network, FeedForward):
            inner = graph.activation(graph.linear(entered, network.inner.weight, network.inner.bias), name)
        else:
            packed = network.gate_and_inner
            gate, inner = (
                graph.linear(entered, weight, bias)
                for weight, bias in zip(packed.weight.chunk(2), packed.bias.chunk(2), strict=True)
            )
            inner = graph.op("Mul", graph.activation(gate, name), inner)
        return self._leave(graph, residual, x, inner, network.outer)
