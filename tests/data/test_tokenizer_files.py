"""Files of tokenizers: the same when loaded, readable by the library alone, and refused where they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizer_world import ODD_TEXTS, corpus

from regard.config import TokenizerConfig
from regard.data import tokenizer_file
from regard.data.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from regard.errors import ModelFolderError


def test_a_saved_tokenizer_is_the_same_when_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.kind, loaded.scheme, loaded.learned) == (tokenizer.kind, tokenizer.scheme, tokenizer.learned)
    assert loaded.encode_batch(ODD_TEXTS) == tokenizer.encode_batch(ODD_TEXTS)
    assert loaded.to_json() == (tmp_path / "tokenizer.json").read_text(encoding="utf-8") == tokenizer.to_json()


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("normalization", ["none", "nfc", "nfkc"])
def test_options_are_saved(lowercase: bool, normalization: Any, tmp_path: Path) -> None:
    config = TokenizerConfig(vocabulary_size=400, lowercase=lowercase, normalization=normalization)
    trained = train_tokenizer(corpus(), config)
    trained.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").scheme == trained.scheme


def test_the_library_alone_gives_the_same_ids_and_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = corpus()[::20] if tokenizer.kind == "wordpiece" else ODD_TEXTS + corpus()[::20]
    for text in texts:
        ids = library.encode(text).ids
        assert ids == tokenizer.encode(text)
        assert library.decode(ids, skip_special_tokens=False) == text


def test_shared_and_separate_vocabularies_are_saved_as_one_and_two_files(
    trained: dict[str, Tokenizer], tmp_path: Path
) -> None:
    Tokenizers(trained["bpe"], trained["word"]).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.source.json", "tokenizer.target.json"]
    separate = Tokenizers.load(tmp_path)
    assert (separate.source.kind, separate.target.kind, separate.shared) == ("bpe", "word", False)
    Tokenizers(trained["bpe"], trained["bpe"]).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    shared = Tokenizers.load(tmp_path)
    assert shared.source is shared.target
    assert shared.shared


def test_a_missing_file_is_named(trained: dict[str, Tokenizer], tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json does not exist"):
        Tokenizers.load(tmp_path)
    trained["byte"].save(tmp_path / "tokenizer.source.json")
    with pytest.raises(ModelFolderError, match=r"tokenizer\.target\.json does not exist"):
        Tokenizers.load(tmp_path)
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json cannot be read"):
        Tokenizers.load(tmp_path)


def damaged(document: dict[str, Any], damage: str) -> str | bytes:
    """The file of a BPE tokenizer, damaged in one way."""
    vocabulary = document["model"]["vocab"]
    added = dict(id=2, content="</s>", special=True, single_word=False, lstrip=False, rstrip=False, normalized=False)
    if damage == "cut short":
        return json.dumps(document)[:-200]
    if damage == "not UTF-8":
        return json.dumps(document, ensure_ascii=False).encode("utf-16")
    if damage == "deep":
        return "[" * 100_000
    if damage == "ids":
        vocabulary["the last"] = len(vocabulary) + 7
    if damage == "marks":
        vocabulary["<start>"] = vocabulary.pop("<s>")
    if damage == "no bytes":
        del vocabulary["<0xE4>"]
    if damage == "merge":
        document["model"]["merges"].append(["nothing", "known"])
    if damage == "vocabulary":
        document["model"]["vocab"] = 5
    changes: dict[str, dict[str, Any]] = {
        "list": {"model": []},
        "no normalizer": {"normalizer": None},
        "version": {"version": "2.0"},
        "type": {"model": {**document["model"], "type": "WordLevel"}},
        "dropout": {"model": {**document["model"], "dropout": 0.5}},
        "removes text": {"pre_tokenizer": {**document["pre_tokenizer"], "behavior": "Removed"}},
        "marks found in text": {"added_tokens": [added]},
    }
    return json.dumps({**document, **changes.get(damage, {})})


DAMAGES = (
    ("cut short", "not JSON"),
    ("not UTF-8", "not UTF-8"),
    ("deep", "nested"),
    ("ids", "ids"),
    ("marks", "<pad>"),
    ("no bytes", "ids"),
    ("merge", "out of vocabulary"),
    ("vocabulary", "vocabulary"),
    ("list", "model"),
    ("no normalizer", "part of it"),
    ("version", "2.0"),
    ("type", "WordLevel"),
    ("dropout", "cutting"),
    ("removes text", "cutting"),
    ("marks found in text", "added_tokens"),
)


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_a_damaged_file_is_refused_by_name(
    trained: dict[str, Tokenizer], tmp_path: Path, damage: str, reason: str
) -> None:
    path = tmp_path / "tokenizer.json"
    text = damaged(json.loads(trained["bpe"].to_json()), damage)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelFolderError, match=reason) as error:
        Tokenizer.load(path)
    assert str(path) in str(error.value)


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_file, "LARGEST_FILE", 10)
    (tmp_path / "tokenizer.json").write_text("{" + " " * 20)
    with pytest.raises(ModelFolderError, match="larger"):
        Tokenizer.load(tmp_path / "tokenizer.json")
