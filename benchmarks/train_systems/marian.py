"""transformers' MarianMTModel, of the same shape, in the ordinary PyTorch loop."""

from __future__ import annotations

from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from train_systems.measuring import read_facts, read_task, report
from train_systems.settings import DROPOUT, MAX_TOKENS, PAD, Shape
from train_systems.torch_loop import seed, train


def build(shape: Shape, vocabulary: int) -> MarianMTModel:
    """A model with random weights: post-norm, ReLU, sinusoidal positions, one table for both embeddings and output."""
    config = MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        d_model=shape.width,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.feed_forward,
        decoder_ffn_dim=shape.feed_forward,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        max_position_embeddings=2 * MAX_TOKENS,
        init_std=shape.width**-0.5,
        use_cache=False,
        pad_token_id=PAD,
        bos_token_id=1,
        decoder_start_token_id=1,
        eos_token_id=2,
        forced_eos_token_id=None,
    )
    config._attn_implementation = "sdpa"
    return MarianMTModel(config)


def main() -> None:
    task = read_task(__doc__)
    seed()
    model = build(task.shape, read_facts(task.work)["vocabulary"])

    def logits(source: Tensor, target_input: Tensor) -> Tensor:
        # The causal mask hides the padding of a target from all that counts.
        output = model(input_ids=source, attention_mask=source != PAD, decoder_input_ids=target_input)
        scores: Tensor = output.logits
        return scores

    report(train(task, model, logits))


if __name__ == "__main__":
    main()
