"""Imports: models of transformers compute here what they compute there, and our own exports come back as they were."""

import json
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

from foreign import write_foreign
from small_world import ENGLISH

from regard.data.imported_tokenizer import ImportedTokenizer
from regard.errors import InputError, ModelFolderError
from regard.models.folder import load_model
from regard.portability import importing
from regard.portability.export import export_model
from regard.portability.importing import import_model
from regard.search.translator import Translator

PAIR = ("en", "de")
NAMED = ("--source-language", "en", "--target-language", "de")
FOREIGN = {
    "marian": ("marian", {"activation_function": "swish", "scale_embedding": True}),
    "marian, unscaled": ("marian", {"activation_function": "gelu"}),
    "marian, output untied": ("marian", {"tie_word_embeddings": False}),
    "pegasus": ("pegasus", {"activation_function": "relu", "scale_embedding": True}),
    "m2m100": ("m2m_100", {}),
    "m2m100, untied": ("m2m_100", {"tie_word_embeddings": False, "activation_function": "gelu"}),
}


@pytest.fixture(params=FOREIGN)
def foreign(request, tmp_path):
    family, settings = FOREIGN[request.param]
    return write_foreign(tmp_path / "foreign", family, ENGLISH, **settings)


def test_a_foreign_model_says_here_what_it_says_there(foreign, tmp_path, sentences):
    imported = import_model(foreign, tmp_path / "model", languages=PAIR, sentences=sentences)
    assert imported.parity.identical == 100.0
    assert imported.parity.difference < 2e-4
    assert imported.parity.bleu_against_original == 100.0


def test_a_foreign_model_goes_back_as_it_was(foreign, tmp_path, sentences):
    from safetensors.torch import load_file

    import_model(foreign, tmp_path / "model", languages=PAIR, sentences=sentences)
    made = export_model(tmp_path / "model", "huggingface", tmp_path / "back", sentences=sentences)
    assert made.parity.identical == 100.0
    before, after = (load_file(folder / "model.safetensors") for folder in (foreign, tmp_path / "back"))
    kinds = [json.loads((folder / "config.json").read_text()) for folder in (foreign, tmp_path / "back")]
    for key in ("model_type", "vocab_size", "pad_token_id", "eos_token_id", "decoder_start_token_id"):
        assert kinds[0][key] == kinds[1][key]
    layers = [name for name in before if ".layers." in name]
    assert layers
    assert all(torch.equal(before[name], after[name]) for name in layers)


@pytest.mark.parametrize("to", ["ctranslate2", "onnx"])
def test_a_foreign_model_goes_on_to_other_engines(foreign, tmp_path, sentences, to):
    pytest.importorskip("ctranslate2")
    pytest.importorskip("onnxruntime")
    import_model(foreign, tmp_path / "model", languages=PAIR, sentences=sentences)
    assert export_model(tmp_path / "model", to, tmp_path / "out", sentences=sentences).parity.identical == 100.0


def test_an_imported_tokenizer_is_kept_with_its_numbers(foreign, tmp_path, sentences):
    import_model(foreign, tmp_path / "model", languages=PAIR, sentences=sentences)
    tokenizer = load_model(tmp_path / "model").tokenizers.source
    assert isinstance(tokenizer, ImportedTokenizer)
    assert tokenizer.decode(tokenizer.encode("the cat sees 2 birds")) == "the cat sees 2 birds"
    assert min(tokenizer.encode("the cat </s> <pad>")) >= 3  # text that spells a mark is text
    names = tokenizer.learned.pieces
    assert len(set(names)) == len(names) == tokenizer.vocabulary_size
    assert tokenizer.pieces([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert ImportedTokenizer.load(tmp_path / "model" / "tokenizer.json").to_json() == tokenizer.to_json()


ROUND_TRIPS = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "biased": {"output_bias": True, "activation": "gelu"},
    "untied": {"tie": "none"},
    "two vocabularies": {"shared": False, "tie": "target"},
    "two vocabularies, pre-norm": {"shared": False, "tie": "none", "norm": "pre"},
    "concatenated": {"positions": "concatenated", "norm": "pre"},
}


@pytest.mark.parametrize("variant", ROUND_TRIPS)
def test_our_own_export_comes_back_as_it_was(variant, make_model, sentences, tmp_path):
    model = make_model(**ROUND_TRIPS[variant])
    export_model(model, "huggingface", tmp_path / "out", sentences=sentences)
    import_model(tmp_path / "out", tmp_path / "back", sentences=sentences)
    before, after = load_model(model), load_model(tmp_path / "back")
    ours, theirs = dict(before.model.named_parameters()), dict(after.model.named_parameters())
    assert ours.keys() == theirs.keys() - ({"output.bias"} - ours.keys())
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert after.config.data == before.config.data.model_copy(update={"train": (), "validation": ()})
    for side in ("source", "target"):
        assert getattr(before.tokenizers, side).to_json() == getattr(after.tokenizers, side).to_json()
    assert Translator(before).translate(ENGLISH[:6], beam=3) == Translator(after).translate(ENGLISH[:6], beam=3)


def test_weights_in_several_files(tmp_path, sentences):
    import transformers

    folder = write_foreign(tmp_path / "foreign", "marian", ENGLISH)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="10KB")
    assert (folder / "model.safetensors.index.json").exists()
    assert import_model(folder, tmp_path / "model", languages=PAIR, sentences=sentences).parity.identical == 100.0


def test_without_transformers_nothing_is_compared(tmp_path, monkeypatch, sentences):
    folder = write_foreign(tmp_path / "foreign", "marian", ENGLISH)
    monkeypatch.setattr(importing, "has", lambda package: False)
    imported = import_model(folder, tmp_path / "model", languages=PAIR, sentences=sentences)
    assert imported.parity is None
    assert "pip install transformers" in imported.to_text()
    assert Translator.load(tmp_path / "model").translate(["the cat"])


def test_an_import_that_says_something_else_is_not_kept(tmp_path, regard, monkeypatch):
    folder = write_foreign(tmp_path / "foreign", "pegasus", ENGLISH)
    whole = importing.our_weights

    def wrong(*arguments):
        weights, *rest = whole(*arguments)
        return {**weights, "encoder_norm.bias": weights["encoder_norm.bias"] + 1}, *rest

    monkeypatch.setattr(importing, "our_weights", wrong)
    done = regard("import", folder, "--output", tmp_path / "model", *NAMED)
    assert done.code == 2
    assert "DOES NOT HOLD" in done.errors
    assert not (tmp_path / "model").exists()


def test_sentencepiece_only_is_refused_with_a_way_out(tmp_path):
    folder = write_foreign(tmp_path / "foreign", "marian", ENGLISH)
    (folder / "tokenizer.json").rename(folder / "source.spm")
    with pytest.raises(ModelFolderError, match=r"source\.spm.*save_pretrained"):
        import_model(folder, tmp_path / "model", languages=PAIR)


def test_a_folder_is_replaced_only_by_force(tmp_path, sentences):
    folder = write_foreign(tmp_path / "foreign", "marian", ENGLISH)
    import_model(folder, tmp_path / "model", languages=PAIR, sentences=sentences)
    with pytest.raises(InputError, match="--force"):
        import_model(folder, tmp_path / "model", languages=PAIR, sentences=sentences)
    (tmp_path / "model" / "mine.txt").write_text("kept?")
    import_model(folder, tmp_path / "model", languages=PAIR, sentences=sentences, force=True)
    assert not (tmp_path / "model" / "mine.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign", "model", "sentences.en"]


def test_the_command_prints_a_report_and_writes_figures(tmp_path, regard, sentences):
    folder = write_foreign(tmp_path / "foreign", "m2m_100", ENGLISH)
    written = ("--json", tmp_path / "figures.json")
    done = regard("import", folder, "--output", tmp_path / "model", *NAMED, "--sentences", sentences, *written)
    assert done.code == 0, done.errors
    assert "identical translations        100.00 %" in done.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["architecture"] == "m2m_100"
    assert figures["parity"]["holds"] is True
    assert Path(figures["output"]) == tmp_path / "model"


def test_languages_that_nobody_names_are_asked_for(tmp_path, regard):
    folder = write_foreign(tmp_path / "foreign", "marian", ENGLISH)
    done = regard("import", folder, "--output", tmp_path / "model", "--source-language", "en")
    assert done.code == 2
    assert "foreign does not say which languages it translates; name them: --source-language" in done.errors
    assert not (tmp_path / "model").exists()


def test_languages_that_are_named_go_before_those_of_our_own_export(make_model, sentences, tmp_path):
    export_model(make_model(), "huggingface", tmp_path / "out", sentences=sentences)
    import_model(tmp_path / "out", tmp_path / "back", languages=(None, "de"), sentences=sentences)
    data = load_model(tmp_path / "back").config.data
    assert (data.source_language, data.target_language) == ("en", "de")
