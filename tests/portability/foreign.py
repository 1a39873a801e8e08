"""Small random models as transformers saves them, with tokenizers that are not ours."""

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SIZES = dict(
    d_model=16,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=24,
    decoder_ffn_dim=24,
    max_position_embeddings=64,
)


def train_foreign_tokenizer(lines: list[str], marks: list[str], end: str) -> Tokenizer:
    """A Unigram tokenizer with `▁`, in the manner of sentencepiece."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=marks, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    number = tokenizer.token_to_id(end)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, number)]
    )
    return tokenizer


def write_foreign(folder: Path, family: str, lines: list[str], seed: int = 3, **settings: object) -> Path:
    """Marian begins an output with its padding, the last token; M2M100 with its end mark; Pegasus with padding, 0."""
    marks = {
        "marian": ["</s>", "<unk>"],
        "pegasus": ["<pad>", "</s>", "<mask>", "<unk>"],
        "m2m_100": ["<s>", "<pad>", "</s>", "<unk>"],
    }[family]
    tokenizer = train_foreign_tokenizer(lines, marks, "</s>")
    if family == "marian":
        tokenizer.add_special_tokens(["<pad>"])
    size = tokenizer.get_vocab_size() + (3 if family == "pegasus" else 0)  # a vocabulary that is filled up
    end, padding = tokenizer.token_to_id("</s>"), tokenizer.token_to_id("<pad>")
    ids = dict(vocab_size=size, pad_token_id=padding, eos_token_id=end, bos_token_id=None, forced_eos_token_id=None)
    start = end if family == "m2m_100" else padding
    classes = {
        "marian": (transformers.MarianConfig, transformers.MarianMTModel),
        "pegasus": (transformers.PegasusConfig, transformers.PegasusForConditionalGeneration),
        "m2m_100": (transformers.M2M100Config, transformers.M2M100ForConditionalGeneration),
    }
    make_config, make_model = classes[family]
    config = make_config(**{**SIZES, **ids, "decoder_start_token_id": start, **settings})
    torch.manual_seed(seed)
    model = make_model(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.3)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(std=0.2)
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
