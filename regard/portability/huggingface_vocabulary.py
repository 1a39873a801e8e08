"""The tokenizer of a Hugging Face folder: its `tokenizer.json`, renumbered so that our marks come first."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from regard.atomic import write_file
from regard.data.imported_tokenizer import ImportedTokenizer, read_library_tokenizer
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from regard.errors import ModelFolderError
from regard.portability.huggingface_config import HuggingFaceConfig
from regard.untrusted import LARGEST_JSON, MIB, read_json, refuse_code

FILE, SETTINGS, TARGET = "tokenizer.json", "tokenizer_config.json", "target"
_SENTENCEPIECE = (
    "source.spm",
    "target.spm",
    "spiece.model",
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "vocab.json",
)


def read_tokenizers(folder: Path, config: HuggingFaceConfig) -> Tokenizers:
    """The tokenizers of both sides: one, or a second in the folder `target`, as our own export writes it."""
    sizes = (config.vocab_size, config.target_size)
    own = config.regard.sizes if config.regard is not None and len(config.regard.sizes) == 2 else list(sizes)
    if sizes[0] == sizes[1] and not (folder / TARGET / FILE).exists():
        both = _read(folder, config, sizes[0])
        return Tokenizers(both, both)
    if not (folder / TARGET / FILE).exists():
        raise ModelFolderError(
            f"{folder}: source and target have vocabularies of their own, and only one {FILE}; the target's is wanted "
            f"as {TARGET}/{FILE}"
        )
    if (folder / TARGET).is_symlink():
        raise ModelFolderError(f"{folder / TARGET}: is a link; put the folder itself there")
    padded = config.model_type == "pegasus"
    source = _read(folder, config, own[0] if padded else sizes[0])
    return Tokenizers(source, _read(folder / TARGET, config, own[1] if padded else sizes[1]))


def _read(folder: Path, config: HuggingFaceConfig, size: int) -> Tokenizer:
    if not (folder / FILE).exists() and not (folder / FILE).is_symlink():
        raise _without_tokenizer(folder)
    document = read_json(folder / FILE, LARGEST_JSON)
    settings: dict[str, Any] = {}
    if (folder / SETTINGS).exists():
        settings = read_json(folder / SETTINGS, 16 * MIB)
        refuse_code(settings, folder / SETTINGS)
    order = _order(folder / FILE, document, settings, config, size)
    if order == list(range(size)):
        ours = _as_ours(document)
        if ours is not None and ours.vocabulary_size == size:
            return ours
    try:
        return ImportedTokenizer(json.dumps(document, ensure_ascii=False), order)
    except ValueError as error:
        raise ModelFolderError(f"{folder / FILE}: {error}") from None


def _without_tokenizer(folder: Path) -> ModelFolderError:
    there = [name for name in _SENTENCEPIECE if (folder / name).exists()]
    found = f"only {there[0]}, of a tokenizer that regard cannot read" if there else "no tokenizer at all"
    return ModelFolderError(
        f"{folder}: has no {FILE}, and {found}. Where transformers has a fast form of it, "
        "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes the file (it needs the package "
        "sentencepiece); then import again"
    )


def _order(
    path: Path, document: dict[str, Any], settings: dict[str, Any], config: HuggingFaceConfig, size: int
) -> list[int]:
    """Their token for each of ours: the four marks, then all others in their own order."""
    try:
        library = read_library_tokenizer(json.dumps(document, ensure_ascii=False))
        numbers = set(library.get_vocab(with_added_tokens=True).values())
        plain, marked = (library.encode("a", add_special_tokens=added).ids for added in (False, True))
    except ValueError as error:
        raise ModelFolderError(f"{path}: {error}") from None
    if max(numbers, default=0) >= size:
        raise ModelFolderError(f"{path}: has token {max(numbers)}, and the model only {size} tokens")
    if marked not in (plain, [*plain, config.eos_token_id]):
        raise ModelFolderError(
            f"{path}: puts other marks around a text than an end mark, as models of many languages do; "
            "regard has no form for that"
        )
    marks = {
        PAD_ID: config.pad_token_id if config.pad_token_id < size else -1,
        BOS_ID: config.decoder_start_token_id if config.decoder_start_token_id < size else -1,
        EOS_ID: config.eos_token_id if config.eos_token_id < size else -1,
        UNK_ID: _unknown(library, document, settings),
    }
    if marks[EOS_ID] < 0:
        raise ModelFolderError(f"{path}: has no token {config.eos_token_id}, the end mark of its config.json")
    first = [marks[number] for number in range(4)]
    return [*first, *(number for number in range(size) if number not in first)]


def _unknown(library: Any, document: dict[str, Any], settings: dict[str, Any]) -> int:
    """The number of the unknown token, -1 where there is none."""
    model = document.get("model")
    names = [settings.get("unk_token"), model.get("unk_token") if isinstance(model, dict) else None, "<unk>"]
    for name in names:
        name = name.get("content") if isinstance(name, dict) else name
        number = library.token_to_id(name) if isinstance(name, str) else None
        if number is not None:
            return int(number)
    number = model.get("unk_id") if isinstance(model, dict) else None
    return number if type(number) is int and number >= 0 else -1


def _as_ours(document: dict[str, Any]) -> Tokenizer | None:
    """The tokenizer of ours that our export was made from: without registered marks, and without an end mark."""
    bare = {**document, "added_tokens": [], "post_processor": None}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / FILE
        write_file(path, json.dumps(bare, ensure_ascii=False).encode())
        try:
            return Tokenizer.load(path)
        except ModelFolderError:
            return None
