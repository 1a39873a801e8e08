"""With the same weights our model computes what torch.nn.Transformer and transformers' MarianMTModel compute."""

import pytest
import torch
from torch import nn

from regard.config import ModelConfig
from regard.models import build_model

VOCABULARY = 211


def randomised(**settings):
    """A small model whose every parameter, biases and norms included, is random."""
    config = ModelConfig(
        **{"width": 32, "feed_forward": 48, "heads": 4, "encoder_layers": 2, "decoder_layers": 3, **settings}
    )
    model = build_model(config, VOCABULARY, VOCABULARY).eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model


def padded_batch():
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(4, VOCABULARY, (5, 9), generator=generator)
    target = torch.randint(4, VOCABULARY, (5, 7), generator=generator)
    lengths = torch.tensor([9, 4, 7, 1, 9])
    return source, torch.arange(9)[None] < lengths[:, None], target


def attention_weights(self_attention):
    packed = self_attention.query_key_value
    return {
        "in_proj_weight": packed.weight,
        "in_proj_bias": packed.bias,
        "out_proj.weight": self_attention.output.weight,
        "out_proj.bias": self_attention.output.bias,
    }


def cross_weights(cross):
    return {
        "in_proj_weight": torch.cat([cross.query.weight, cross.key_value.weight]),
        "in_proj_bias": torch.cat([cross.query.bias, cross.key_value.bias]),
        "out_proj.weight": cross.output.weight,
        "out_proj.bias": cross.output.bias,
    }


def copy_common(layer, ours, norms):
    layer.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    layer.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    layer.self_attn.load_state_dict(attention_weights(ours.attention))
    for theirs, residual in zip((layer.norm1, layer.norm2, getattr(layer, "norm3", None)), norms, strict=False):
        theirs.load_state_dict(residual.norm.state_dict())


def torch_twin(model, norm):
    options = dict(dropout=0.0, batch_first=True, norm_first=norm == "pre")
    twin = nn.Transformer(32, 4, len(model.encoder), len(model.decoder), 48, **options).eval()
    for layer, ours in zip(twin.encoder.layers, model.encoder, strict=True):
        copy_common(layer, ours, [ours.attention_residual, ours.feed_forward_residual])
    for layer, ours in zip(twin.decoder.layers, model.decoder, strict=True):
        layer.multihead_attn.load_state_dict(cross_weights(ours.cross))
        copy_common(layer, ours, [ours.attention_residual, ours.cross_residual, ours.feed_forward_residual])
    if norm == "pre":
        twin.encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        twin.decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    else:
        twin.encoder.norm = twin.decoder.norm = None
    return twin


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equals_torch_nn_transformer(norm):
    model = randomised(norm=norm)
    twin = torch_twin(model, norm)
    source, mask, target = padded_batch()
    with torch.no_grad():
        memory = model.encode(source, mask)
        features = model.decode(target, memory)
        their_memory = twin.encoder(model.source_embedding(source), src_key_padding_mask=~mask)
        their_features = twin.decoder(
            model.target_embedding(target),
            memory.states,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.size(1)),
            memory_key_padding_mask=~mask,
        )
    torch.testing.assert_close(memory.states[mask], their_memory[:, : source.size(1)][mask], atol=1e-5, rtol=0)
    torch.testing.assert_close(features, their_features, atol=1e-5, rtol=0)


def marian_weights(model):
    """Our parameters under Marian's names."""

    def attention(prefix, query, key, value, output):
        parts = {"q_proj": query, "k_proj": key, "v_proj": value, "out_proj": (output.weight, output.bias)}
        return {
            f"{prefix}.{name}.{kind}": part
            for name, (weight, bias) in parts.items()
            for kind, part in (("weight", weight), ("bias", bias))
        }

    def packed(linear, parts):
        return list(zip(linear.weight.chunk(parts), linear.bias.chunk(parts), strict=True))

    def norm(prefix, residual):
        return {f"{prefix}.weight": residual.norm.weight, f"{prefix}.bias": residual.norm.bias}

    def feed_forward(prefix, layer):
        inner, outer = layer.feed_forward.inner, layer.feed_forward.outer
        return {
            f"{prefix}.fc1.weight": inner.weight,
            f"{prefix}.fc1.bias": inner.bias,
            f"{prefix}.fc2.weight": outer.weight,
            f"{prefix}.fc2.bias": outer.bias,
            **norm(f"{prefix}.final_layer_norm", layer.feed_forward_residual),
        }

    weights = {"model.shared.weight": model.output.weight}
    for number, layer in enumerate(model.encoder):
        prefix = f"model.encoder.layers.{number}"
        query, key, value = packed(layer.attention.query_key_value, 3)
        weights |= attention(f"{prefix}.self_attn", query, key, value, layer.attention.output)
        weights |= norm(f"{prefix}.self_attn_layer_norm", layer.attention_residual) | feed_forward(prefix, layer)
    for number, layer in enumerate(model.decoder):
        prefix = f"model.decoder.layers.{number}"
        query, key, value = packed(layer.attention.query_key_value, 3)
        weights |= attention(f"{prefix}.self_attn", query, key, value, layer.attention.output)
        key, value = packed(layer.cross.key_value, 2)
        query = (layer.cross.query.weight, layer.cross.query.bias)
        weights |= attention(f"{prefix}.encoder_attn", query, key, value, layer.cross.output)
        weights |= norm(f"{prefix}.self_attn_layer_norm", layer.attention_residual)
        weights |= norm(f"{prefix}.encoder_attn_layer_norm", layer.cross_residual) | feed_forward(prefix, layer)
    return weights


def test_logits_equal_transformers_marian():
    transformers = pytest.importorskip("transformers")
    model = randomised(positions="concatenated", activation="gelu", output_bias=True)
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        activation_function="gelu",
        scale_embedding=True,
        max_position_embeddings=64,
        dropout=0.0,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    twin = transformers.MarianMTModel(config).eval()
    weights = marian_weights(model)
    missing, unexpected = twin.load_state_dict(weights, strict=False)
    assert not unexpected
    assert all("shared" in name or "embed" in name or "lm_head" in name or "final_logits" in name for name in missing)
    twin.final_logits_bias.copy_(model.output.bias.detach()[None])
    source, mask, target = padded_batch()
    with torch.no_grad():
        theirs = twin(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target, use_cache=False).logits
        torch.testing.assert_close(model(source, mask, target), theirs, atol=1e-4, rtol=0)
