"""Folders that a stranger might send: each function spoils a good one, and leaves a trap where code could be run."""

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

Spoil = Callable[[Path, Path], None]
WEIGHTS = "model.safetensors"


class Trap:
    """Whoever unpickles this writes the canary."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


def rename_to_pickle(name: str) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / name).write_bytes(pickle.dumps(Trap(canary)))

    return spoil


def pickle_as_weights(folder: Path, canary: Path) -> None:
    (folder / WEIGHTS).write_bytes(pickle.dumps(Trap(canary)))


def edit_header(change: Callable[[dict], None]) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        content = (folder / WEIGHTS).read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])

    return spoil


def entry(header: dict) -> dict:
    return next(value for name, value in header.items() if name != "__metadata__" and len(value["shape"]) == 2)


def raw_header(text: bytes, claimed: int | None = None, data: bytes = b"") -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text) if claimed is None else claimed) + text + data)

    return spoil


def link_out(name: str) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        outside = folder.parent / "outside"
        outside.mkdir(exist_ok=True)
        (folder / name).rename(outside / name)
        (folder / name).symlink_to(outside / name)

    return spoil


def link_to(name: str, target: str) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return spoil


def make_pipe(folder: Path, canary: Path) -> None:
    (folder / WEIGHTS).unlink()
    os.mkfifo(folder / WEIGHTS)


def make_folder(folder: Path, canary: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()


def write(name: str, content: str | bytes) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return spoil


def change_tensors(change: Callable[[dict], None]) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)

    return spoil


def to_integers(tensors: dict) -> None:
    name = sorted(tensors)[-1]
    tensors[name] = np.zeros(tensors[name].shape, dtype=np.int64)


def edit_json(name: str, change: Callable[[dict], None]) -> Spoil:
    def spoil(folder: Path, canary: Path) -> None:
        document = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        change(document)
        (folder / name).write_text(json.dumps(document))

    return spoil


def pickled_tokenizer(folder: Path, canary: Path) -> None:
    (folder / "tokenizer.json").write_bytes(pickle.dumps(Trap(canary)))


def nan_size(folder: Path, canary: Path) -> None:
    text = (folder / "config.json").read_text()
    assert '"d_model": 16' in text
    (folder / "config.json").write_text(text.replace('"d_model": 16', '"d_model": NaN'))


def index_of_pickles(folder: Path, canary: Path) -> None:
    (folder / "shard.bin").write_bytes(pickle.dumps(Trap(canary)))
    _index(folder, "shard.bin")


def index_without_map(folder: Path, canary: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "model.safetensors.index.json").write_text("{}")


DEEP = "[" * 100_000 + "]" * 100_000
HUGE = 2**40

BOTH: dict[str, Spoil] = {
    "pickle under pytorch's name": rename_to_pickle("pytorch_model.bin"),
    "pickle .pt": rename_to_pickle("model.pt"),
    "pickle .pkl": rename_to_pickle("weights.pkl"),
    "pickle .ckpt": rename_to_pickle("model.ckpt"),
    "pickle as safetensors": pickle_as_weights,
    "header longer than the file": raw_header(b"{}", claimed=2**63),
    "header of a gigabyte": raw_header(b"{}", claimed=2**30),
    "header cut off": raw_header(b'{"a": '),
    "header that is a list": raw_header(b"[1, 2]"),
    "header nested deeply": raw_header(DEEP.encode()),
    "header with NaN": raw_header(b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 4]}}', data=b"\0" * 4),
    "eight bytes only": write(WEIGHTS, b"\xff" * 8),
    "no bytes": write(WEIGHTS, b""),
    "huge shape": edit_header(lambda header: entry(header).update(shape=[HUGE, HUGE])),
    "negative shape": edit_header(lambda header: entry(header).update(shape=[-1, -1])),
    "shape of many sizes": edit_header(lambda header: entry(header).update(shape=[1] * 1000)),
    "fractional shape": edit_header(lambda header: entry(header).update(shape=[1.5, 2])),
    "offsets outside the file": edit_header(lambda header: entry(header).update(data_offsets=[0, HUGE])),
    "offsets that overlap": edit_header(
        lambda header: [value.update(data_offsets=[0, 4], shape=[1], dtype="F32") for value in header.values()]
    ),
    "unknown type": edit_header(lambda header: entry(header).update(dtype="PYTHON")),
    "an entry with code": edit_header(lambda header: entry(header).update(code="os.system('true')")),
    "whole numbers": change_tensors(to_integers),
    "a tensor too many": change_tensors(lambda tensors: tensors.update({"../../evil": np.zeros(1, np.float32)})),
    "a tensor too few": change_tensors(lambda tensors: tensors.pop(sorted(tensors)[-1])),
    "weights linked from outside": link_out(WEIGHTS),
    "weights linked to a device": link_to(WEIGHTS, "/dev/zero"),
    "weights linked to themselves": link_to(WEIGHTS, WEIGHTS),
    "a pipe for weights": make_pipe,
    "a folder for weights": make_folder,
    "tokenizer linked from outside": link_out("tokenizer.json"),
    "tokenizer linked to a secret": link_to("tokenizer.json", "/etc/passwd"),
    "tokenizer nested deeply": write("tokenizer.json", '{"model": ' + DEEP + "}"),
    "tokenizer with a bad model": write("tokenizer.json", '{"version": "1.0", "model": {"type": "os.system"}}'),
    "tokenizer with huge numbers": edit_json("tokenizer.json", lambda d: d["added_tokens"].append({"id": HUGE})),
    "tokenizer that is a pickle": pickled_tokenizer,
}

REGARD_ONLY: dict[str, Spoil] = {
    "sizes without weights": lambda folder, _: _edit_toml(folder, "width = 16", "width = 65536"),
    "a thousand layers": lambda folder, _: _edit_toml(folder, "encoder_layers = 2", "encoder_layers = 1000"),
    "NaN in the configuration": lambda folder, _: _edit_toml(folder, "dropout = 0.0", "dropout = nan"),
    "code in the configuration": lambda folder, _: _edit_toml(folder, "[model]", '[model]\ncode = "os.system"'),
    "configuration linked from outside": link_out("config.toml"),
    "configuration of megabytes": write("config.toml", "# " + "x" * 2_000_000),
    "configuration nested deeply": write("config.toml", "seed = " + DEEP),
    "imported tokenizer with an odd order": write(
        "tokenizer.json", '{\n "imported_tokenizer": 1, "order": [0, 1, 2, 3, -7, 1e99], "tokenizer": {}}'
    ),
    "imported tokenizer nested deeply": write("tokenizer.json", '{\n "imported_tokenizer": 1, "order": ' + DEEP + "}"),
}

IMPORT_ONLY: dict[str, Spoil] = {
    "auto_map": edit_json("config.json", lambda d: d.update(auto_map={"AutoModel": "evil--repo.Model"})),
    "nested auto_map": edit_json(
        "config.json", lambda d: d.update(text_config={"auto_map": {"AutoModel": "evil.Model"}})
    ),
    "auto_map of the tokenizer": edit_json(
        "tokenizer_config.json", lambda d: d.update(auto_map={"AutoTokenizer": ["x.Y"]})
    ),
    "custom generation": edit_json("generation_config.json", lambda d: d.update(custom_generate="evil/repo")),
    "another model": edit_json("config.json", lambda d: d.update(model_type="../../evil")),
    "NaN for a size": nan_size,
    "text for a size": edit_json("config.json", lambda d: d.update(d_model="__import__('os')")),
    "huge width": edit_json("config.json", lambda d: d.update(d_model=HUGE)),
    "huge vocabulary": edit_json("config.json", lambda d: d.update(vocab_size=1_999_999)),
    "negative layers": edit_json("config.json", lambda d: d.update(encoder_layers=-5)),
    "a thousand layers": edit_json("config.json", lambda d: d.update(encoder_layers=1000)),
    "heads that do not divide": edit_json(
        "config.json", lambda d: d.update(encoder_attention_heads=3, decoder_attention_heads=3)
    ),
    "end mark outside the vocabulary": edit_json("config.json", lambda d: d.update(eos_token_id=99_999)),
    "configuration nested deeply": write("config.json", '{"model_type": ' + DEEP + "}"),
    "configuration that is a list": write("config.json", "[]"),
    "configuration that is not UTF-8": write("config.json", b'{"model_type": "\xff\xfe"}'),
    "configuration with a number of a million digits": write("config.json", '{"d_model": ' + "9" * 1_000_000 + "}"),
    "configuration linked from outside": link_out("config.json"),
    "an index that leads out": lambda folder, canary: _index(folder, "../outside/model.safetensors"),
    "an index with an absolute name": lambda folder, canary: _index(folder, "/etc/passwd"),
    "an index of pickles": index_of_pickles,
    "an index without a map": index_without_map,
    "weights that are no numbers": change_tensors(
        lambda tensors: tensors.update({name: np.full_like(value, np.nan) for name, value in tensors.items()})
    ),
    "token beyond the vocabulary": edit_json("config.json", lambda d: d.update(vocab_size=40, decoder_vocab_size=40)),
}


def _index(folder: Path, name: str) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"model.shared.weight": name}}))


def _edit_toml(folder: Path, old: str, new: str) -> None:
    text = (folder / "config.toml").read_text()
    assert old in text
    (folder / "config.toml").write_text(text.replace(old, new, 1))
