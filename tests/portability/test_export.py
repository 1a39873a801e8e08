"""Exports: every variant says the same in each engine that has a form for it, and others are refused by name."""

import json
from pathlib import Path

import pytest

from regard.errors import InputError
from regard.portability import export as exporting
from regard.portability.export import export_model
from regard.portability.parity import ParityError

pytest.importorskip("ctranslate2")
pytest.importorskip("onnxruntime")
pytest.importorskip("transformers")

VARIANTS = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "gelu": {"activation": "gelu", "output_bias": True},
    "swish": {"activation": "swish", "norm": "pre", "output_bias": True},
    "gated": {"activation": "gated-gelu"},
    "swiglu": {"activation": "swiglu", "norm": "pre"},
    "concatenated": {"positions": "concatenated"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "no positions": {"positions": "none"},
    "unscaled": {"scale_embeddings": False},
    "dot": {"score": "dot"},
    "general": {"score": "general"},
    "general, rotary": {"score": "general", "positions": "rotary"},
    "additive": {"score": "additive"},
    "target tied": {"tie": "target"},
    "untied": {"tie": "none"},
    "two vocabularies": {"shared": False, "tie": "target"},
    "two vocabularies, untied": {"shared": False, "tie": "none"},
    "two vocabularies, pre-norm": {"shared": False, "tie": "target", "norm": "pre"},
    "two vocabularies, pre-norm, untied": {"shared": False, "tie": "none", "norm": "pre"},
}
REFUSED = {
    ("ctranslate2", "additive"): "additive",
    ("ctranslate2", "general, rotary"): "rotary",
    ("huggingface", "additive"): "additive",
    ("huggingface", "general, rotary"): "rotary",
    ("huggingface", "gated"): "gated-gelu",
    ("huggingface", "swiglu"): "swiglu",
    ("huggingface", "learned"): "learned",
    ("huggingface", "rotary"): "rotary",
    ("huggingface", "no positions"): "none",
}


@pytest.mark.parametrize("to", ["ctranslate2", "huggingface", "onnx"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_says_the_same_or_is_refused_by_name(to, variant, make_model, sentences, tmp_path):
    model, output = make_model(**VARIANTS[variant]), tmp_path / "out"
    if (to, variant) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[to, variant]):
            export_model(model, to, output, sentences=sentences)
        assert not output.exists()
        return
    made = export_model(model, to, output, sentences=sentences)
    assert made.parity.identical == 100.0
    assert made.parity.difference < 2e-4
    assert output.is_dir()
