"""Exports: every variant says the same in each engine that has a form for it, and others are refused by name."""

import json
import sys
from pathlib import Path

import pytest
from small_world import ENGLISH, GERMAN

import regard
from regard.errors import InputError
from regard.models.folder import load_model
from regard.native.engine import takes_bytes
from regard.portability import export as exporting
from regard.portability.export import export_model
from regard.portability.parity import INT8, Cuts, Outputs, Parity, ParityError

pytest.importorskip("ctranslate2")
pytest.importorskip("onnxruntime")
pytest.importorskip("transformers")

FORMATS = ("ctranslate2", "huggingface", "onnx")
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


@pytest.mark.parametrize("to", FORMATS)
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


OUTSIDE = "the cat sees ñ ☃ 雪 in the garden."


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character", "byte"])
def test_every_tokenizer_cuts_any_text_alike_elsewhere(to, kind, make_model, tmp_path):
    sentences = tmp_path / "any.en"
    sentences.write_text(f"{OUTSIDE}\n{ENGLISH[0]}\n  two  spaces, </s> and \tЖ\u0301 \n", encoding="utf-8")
    made = export_model(make_model(kind=kind), to, tmp_path / "out", sentences=sentences)
    assert made.parity.cuts == Cuts()
    assert made.parity.identical == 100.0
    assert "cut into the same tokens" in made.to_text()


@pytest.mark.parametrize("to", FORMATS)
def test_wordpiece_within_its_alphabet_is_kept_with_a_note(to, make_model, sentences, tmp_path):
    made = export_model(make_model(kind="wordpiece"), to, tmp_path / "out", sentences=sentences)
    assert made.parity.cuts == Cuts()
    assert "outside its alphabet become <unk>" in made.to_text()


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_that_cuts_text_otherwise_is_not_kept(to, make_model, tmp_path):
    outside = [line.replace("a", "ж雪☃") for line in ENGLISH[::13]]
    sentences = tmp_path / "outside.en"
    sentences.write_text("\n".join([ENGLISH[0], *outside]), encoding="utf-8")
    with pytest.raises(ParityError, match="its tokenizer is at fault") as raised:
        export_model(make_model(kind="wordpiece"), to, tmp_path / "out", sentences=sentences)
    report = raised.value.report
    assert report.difference < 1e-3  # which by itself would do
    assert report.cuts.otherwise == len(outside)
    assert report.cuts.first in outside
    assert report.to_json()["cut_alike"] == 1
    assert repr(report.cuts.first) in report.to_text()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("theirs", "holds"), [([5, 6], True), ([5, 7], False)])
def test_what_is_cut_otherwise_holds_where_it_is_translated_identically(theirs, holds):
    outputs = Outputs([[5], [5, 6]], [[5], theirs], ["a", "b"], ["a", "b"], [[8], [9, 9]], [[8], [9]])
    assert Cuts.of(outputs, ["one", "other"]) == Cuts(1, "other", holds)


@pytest.mark.skipif(not takes_bytes(), reason="without VNNI, CTranslate2's sums of bytes may overflow")
@pytest.mark.parametrize("variant", [{}, {"norm": "pre", "shared": False, "tie": "target"}])
def test_eight_bits_are_smaller_and_say_nearly_the_same(variant, make_model, sentences, tmp_path):
    model = make_model(width=64, feed_forward=128, **variant)
    whole = export_model(model, "ctranslate2", tmp_path / "whole", sentences=sentences)
    small = export_model(model, "ctranslate2", tmp_path / "small", quantization="int8", sentences=sentences)
    assert small.files["model.bin"] < whole.files["model.bin"]
    assert small.parity.holds
    again = export_model(model, "ctranslate2", tmp_path / "again", sentences=sentences)
    assert again.parity.difference == whole.parity.difference  # rounding has not touched the original


def test_ctranslate2_takes_plain_pieces(make_model, sentences, tmp_path):
    import ctranslate2
    from tokenizers import Tokenizer

    model = make_model(never=(0, 1, 3), output_bias=True)
    export_model(model, "ctranslate2", tmp_path / "out", sentences=sentences)
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    translator = ctranslate2.Translator(str(tmp_path / "out"))
    for text in ENGLISH[:5]:
        pieces = tokenizer.encode(text).tokens
        (found,) = translator.translate_batch([pieces], beam_size=1, max_decoding_length=len(pieces) + 1 + 8)
        text_found = tokenizer.decode([tokenizer.token_to_id(piece) for piece in found.hypotheses[0]])
        assert text_found == regard.load(model).translate([text], beam=1)[0]


@pytest.mark.parametrize("variant", [{}, {"norm": "pre"}])
def test_transformers_alone_says_the_same(variant, make_model, sentences, tmp_path):
    import transformers

    model = make_model(**variant)
    export_model(model, "huggingface", tmp_path / "out", sentences=sentences)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert isinstance(tokenizer, transformers.PreTrainedTokenizerFast)
    texts = [*ENGLISH[:4], "text with </s> and <pad> in it"]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    translator = regard.load(model)
    for row, mask, text in zip(batch["input_ids"], batch["attention_mask"], texts, strict=True):
        assert row[mask.bool()].tolist() == [*translator.tokenizers.source.encode(text), 2]
    made = theirs.generate(**batch, max_new_tokens=20)
    for text, row in zip(texts, made.tolist(), strict=True):
        expected = translator.translate_nbest([text], 1, beam=1)[0][0]
        assert row[0] == 1
        assert row[1:21][: min(20, len(expected.tokens))] == expected.tokens[:20]
        if expected.finished and len(expected.tokens) < 20:
            assert tokenizer.decode(row, skip_special_tokens=True) == expected.text


def test_onnxruntime_alone_says_the_same(make_model, sentences, tmp_path):
    import numpy as np
    import onnxruntime

    model = make_model(norm="pre")
    export_model(model, "onnx", tmp_path / "out", sentences=sentences)
    encoder, decoder = (
        onnxruntime.InferenceSession(str(tmp_path / "out" / name)) for name in ("encoder.onnx", "decoder.onnx")
    )
    translator = regard.load(model)
    source = np.array([[*translator.tokenizers.source.encode(ENGLISH[0]), 2]])
    names = [output.name for output in encoder.get_outputs()]
    fixed = dict(zip(names, encoder.run(names, {"source": source, "source_mask": source > 0}), strict=True))
    fixed["source_mask"] = source > 0
    past = {name.replace("cross", "past"): np.zeros((1, 2, 0, 8), np.float32) for name in names}
    tokens, names = [1], [output.name for output in decoder.get_outputs()]
    while len(tokens) <= source.shape[1] + 8 and tokens[-1] != 2:
        given = dict(zip(names, decoder.run(names, {"tokens": np.array(tokens[-1:]), **fixed, **past}), strict=True))
        logits = given.pop("logits")[0]
        logits[[0, 1, 3]] = -np.inf
        tokens.append(int(logits.argmax()))
        past = {name.replace("present", "past"): value for name, value in given.items()}
    expected = translator.translate_nbest([ENGLISH[0]], 1, beam=1)[0][0]
    assert tokens[1:] == [*expected.tokens, *([2] if expected.finished else [])]


@pytest.mark.parametrize("beam", [1, 4])
def test_our_beam_runs_over_onnx(beam, make_model, sentences, tmp_path):
    from regard.portability.onnx_parity import OnnxTranslator

    model = make_model()
    export_model(model, "onnx", tmp_path / "out", sentences=sentences)
    loaded = load_model(model)
    ours, theirs = regard.load(model), OnnxTranslator(loaded, tmp_path / "out")
    assert theirs.translate(ENGLISH[:9], beam=beam) == ours.translate(ENGLISH[:9], beam=beam)


def spoil(monkeypatch):
    """An export that forgets to scale embeddings."""
    kind = exporting._kind("onnx")

    def write(loaded, folder, quantization, where):
        loaded.model.source_embedding.scale = 1.0
        try:
            return kind.write(loaded, folder, quantization, where)
        finally:
            loaded.model.source_embedding.scale = 4.0

    monkeypatch.setattr(exporting, "_kind", lambda to: exporting.Kind("ONNX", write, kind.compare))


def test_an_export_that_says_something_else_is_not_kept(make_model, sentences, tmp_path, monkeypatch):
    spoil(monkeypatch)
    with pytest.raises(ParityError, match="DOES NOT HOLD") as raised:
        export_model(make_model(), "onnx", tmp_path / "out", sentences=sentences)
    assert not raised.value.report.holds
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "sentences.en"]


def test_the_command_leaves_with_2_and_keeps_what_was_there(make_model, sentences, tmp_path, monkeypatch, regard):
    model, output = make_model(), tmp_path / "out"
    arguments = ("export", model, "--to", "onnx", "--output", output, "--sentences", sentences)
    assert regard(*arguments).code == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    refused = regard(*arguments)
    assert refused.code == 2
    assert "--force" in refused.errors
    spoil(monkeypatch)
    failed = regard(*arguments, "--force")
    assert failed.code == 2
    assert "says something else than the original, so it is not kept" in failed.errors
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out", "sentences.en"]


def test_force_replaces_the_folder(make_model, sentences, tmp_path):
    model, output = make_model(), tmp_path / "out"
    output.mkdir()
    (output / "old.txt").write_text("old")
    export_model(model, "ctranslate2", output, sentences=sentences, force=True)
    assert sorted(path.name for path in output.iterdir()) == [
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.json",
    ]


def test_the_command_prints_a_table_and_writes_figures(make_model, sentences, tmp_path, regard):
    (tmp_path / "right.de").write_text("\n".join(GERMAN[::13]) + "\n", encoding="utf-8")
    done = regard(
        *("export", make_model(), "--to", "huggingface", "--output", tmp_path / "out", "--sentences", sentences),
        *("--references", tmp_path / "right.de", "--json", tmp_path / "figures.json"),
    )
    assert done.code == 0, done.errors
    assert "identical translations        100.00 %" in done.output
    assert "it is a MarianMTModel" in done.output
    figures = json.loads((tmp_path / "figures.json").read_text())["parity"]
    assert figures["holds"] is True
    assert figures["bleu_exported"] == figures["bleu_original"]
    assert figures["largest_difference"] < 1e-4
    assert figures["sentences"] == len(ENGLISH[::13])


def test_the_difference_printed_is_that_of_the_figures_printed():
    figures = {"identical": 91.0, "token_agreement": 91.3, "difference": 0.159, "bleu_against_original": 95.65}
    report = Parity(
        "int8", 200, "here", **figures, measured="logits", bleu_original=16.816, bleu_exported=16.794, bound=INT8
    )
    assert "16.79, original 16.82 (-0.03)" in report.to_text()


MISTAKES = {
    "no such model": (["nowhere", "--to", "onnx", "--output", "out"], "no such model folder"),
    "8 bits elsewhere": (["MODEL", "--to", "onnx", "--output", "out", "--quantization", "int8"], "float32"),
    "a file for output": (["MODEL", "--to", "onnx", "--output", "sentences.en"], "is a file"),
    "the model for output": (["MODEL", "--to", "onnx", "--output", "MODEL", "--force"], "holds the model itself"),
    "its folder for output": (["MODEL", "--to", "onnx", "--output", ".", "--force"], "holds the model itself"),
    "no sentences": (["MODEL", "--to", "onnx", "--output", "out", "--sentences", "empty"], "no sentence"),
    "references alone": (["MODEL", "--to", "onnx", "--output", "out", "--references", "empty"], "--sentences"),
    "another format": (["MODEL", "--to", "gguf", "--output", "out"], "gguf"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_said_in_a_sentence(name, make_model, sentences, tmp_path, monkeypatch, regard):
    monkeypatch.chdir(tmp_path)
    model = make_model()
    Path("empty").write_text("\n")
    arguments, words = MISTAKES[name]
    done = regard("export", *(model if word == "MODEL" else word for word in arguments))
    assert done.code == 2
    assert words in done.errors
    assert not Path("out").exists()


@pytest.mark.parametrize("output", [".", "..", "new/.."])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_without_a_name_of_its_own_is_refused(output, force, make_model, tmp_path, monkeypatch, regard):
    model, place = make_model(), tmp_path / "a" / "b"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    exported = regard("export", model, "--to", "onnx", "--output", output, *force)
    imported = regard("import", model, "--output", output, *force)
    for done in (exported, imported):
        assert done.code == 2
        assert f"{output}: is no name of a folder of its own; name a new one" in done.errors
    assert list((tmp_path / "a").rglob("*")) == [place]


@pytest.mark.parametrize(("to", "package"), [("ctranslate2", "ctranslate2"), ("onnx", "onnx"), ("onnx", "onnxruntime")])
def test_without_a_package_the_error_says_what_to_install(to, package, make_model, tmp_path, monkeypatch, regard):
    monkeypatch.setitem(sys.modules, package, None)
    done = regard("export", make_model(), "--to", to, "--output", tmp_path / "out")
    assert done.code == 2
    assert "pip install -e '.[export]'" in done.errors
    assert not (tmp_path / "out").exists()


def test_validation_data_is_what_it_is_compared_on(tiny_run, tmp_path):
    made = export_model(tiny_run, "onnx", tmp_path / "out")
    assert made.parity.origin.endswith("validation.en")
    assert made.parity.bleu_original is not None


def test_without_validation_data_sentences_are_built_in(make_model, tmp_path):
    made = export_model(make_model(), "onnx", tmp_path / "out")
    assert made.parity.origin == "built-in sentences"
    assert made.parity.sentences == 10
