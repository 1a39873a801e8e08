"""Reading folders that strangers made: nothing is unpickled or run, and what is odd is refused by name.

A model folder is data. A file must be a plain one inside its folder, JSON must be small, shallow and without NaN, and
a safetensors file must be, byte for byte, what its header says, before memory is taken for it.
"""

from __future__ import annotations

import json
import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from regard.errors import ModelFolderError

MIB = 1024**2
LARGEST_JSON, LARGEST_HEADER, LARGEST_WEIGHTS = 256 * MIB, 32 * MIB, 200 * 1024 * MIB
MOST_TENSORS, DEEPEST = 200_000, 64
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_CODE = ("auto_map", "custom_pipelines", "custom_generate", "trust_remote_code", "_name_or_class", "code_revision")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack", ".npy", ".npz", ".joblib")


@dataclass(frozen=True)
class TensorInfo:
    """What a header says of a tensor."""

    kind: str
    shape: tuple[int, ...]

    @property
    def is_floating_point(self) -> bool:
        return "F" in self.kind


def plain_file(folder: Path, name: str, most_bytes: int) -> Path:
    """The path of a file that lies in a folder itself, and not in another by a link or by `..`."""
    if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name or Path(name).is_absolute():
        raise ModelFolderError(f"{folder}: names the file {name!r}, which would lie outside the folder; it is refused")
    path = folder / name
    try:
        place, size = path.resolve(strict=True), path.stat().st_size
    except FileNotFoundError:
        raise ModelFolderError(f"{path} does not exist; is {folder} a model folder, and complete?") from None
    except (OSError, RuntimeError) as error:
        raise ModelFolderError(f"{path}: cannot be read ({error})") from None
    if not place.is_relative_to(folder.resolve()) and not _in_hub_cache(folder, place):
        raise ModelFolderError(f"{path}: is a link to {place}, outside the folder; copy the file there if you trust it")
    if not place.is_file():
        raise ModelFolderError(f"{path}: is not a plain file")
    if size > most_bytes:
        raise ModelFolderError(f"{path}: is larger than {most_bytes // MIB:,} MiB, which no model needs")
    return path


def _in_hub_cache(folder: Path, place: Path) -> bool:
    """The cache of Hugging Face keeps files as `blobs/HASH`, with links to them in `snapshots/REVISION`."""
    folder = folder.resolve()
    return folder.parent.name == "snapshots" and place.parent == folder.parent.parent / "blobs"


def read_json(path: Path, most_bytes: int = LARGEST_JSON) -> dict[str, Any]:
    """An object of JSON from a file of a folder."""
    plain_file(path.parent, path.name, most_bytes)
    try:
        document = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise ModelFolderError(f"{path}: is not UTF-8 text") from None
    except RecursionError:
        raise ModelFolderError(f"{path}: is nested too deeply") from None
    except (ValueError, OSError) as error:
        raise ModelFolderError(f"{path}: is not JSON that can be used ({str(error)[:200]})") from None
    if not isinstance(document, dict):
        raise ModelFolderError(f"{path}: is not an object of JSON")
    refuse_depth(document, path)
    return document


def refuse_depth(document: Any, path: Path) -> None:
    """Refuse JSON that is nested as no model's is."""
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ModelFolderError(f"{path}: is nested too deeply")
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]


def refuse_code(document: dict[str, Any], path: Path) -> None:
    """Refuse a configuration that names code to run."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key in value:
                if key in _CODE:
                    raise ModelFolderError(
                        f"{path}: `{key}` names code that would have to be run; regard runs no code from a model folder"
                    )
            waiting += list(value.values())
        elif isinstance(value, list):
            waiting += value


def refuse_pickles_only(folder: Path, wanted: str) -> None:
    """Say why weights that are there are not read."""
    pickles = sorted(entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(PICKLES))
    if pickles:
        raise ModelFolderError(
            f"{folder}: has its weights in {pickles[0]!r}, a form that can run code when opened, and no {wanted}; "
            "save it as safetensors (in transformers: model.save_pretrained(FOLDER)) where you trust it"
        )
    raise ModelFolderError(f"{folder}: not a finished model folder: it has no {wanted}")


def read_header(path: Path) -> dict[str, TensorInfo]:
    """What a safetensors file holds, after its header was found to agree with its size; no tensor is read."""
    plain_file(path.parent, path.name, LARGEST_WEIGHTS)
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
            if not 2 <= length <= min(size - 8, LARGEST_HEADER):
                raise _damaged(path, f"its header claims {length:,} bytes of {size:,}")
            header = json.loads(file.read(length).decode("utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read ({error.strerror or error})") from None
    except RecursionError:
        raise _damaged(path, "its header is nested too deeply") from None
    except ValueError as error:
        raise _damaged(path, str(error)[:200]) from None
    return _tensors(path, header, size - 8 - length)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file whose header was checked."""
    read_header(path)
    try:
        return dict(load(path.read_bytes()))
    except (SafetensorError, OSError, ValueError) as error:
        raise _damaged(path, str(error)[:200]) from None


def _tensors(path: Path, header: Any, available: int) -> dict[str, TensorInfo]:
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise _damaged(path, "its header is no list of tensors")
    found: dict[str, TensorInfo] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        info, span = _entry(path, name, entry)
        found[name] = info
        spans.append(span)
    place = 0
    for begin, end in sorted(spans):
        if begin != place:
            raise _damaged(path, "its tensors overlap, or leave gaps")
        place = end
    if place != available:
        raise _damaged(path, f"its header speaks of {place:,} bytes, and {available:,} are there")
    return found


def _entry(path: Path, name: str, entry: Any) -> tuple[TensorInfo, tuple[int, int]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"tensor {name!r} is not described as it should be")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if kind not in _BYTES:
        raise _damaged(path, f"tensor {name!r} is of type {kind!r}, which no model of regard's has")
    if not _are_numbers(shape) or len(shape) > 8 or not _are_numbers(offsets) or len(offsets) != 2:
        raise _damaged(path, f"tensor {name!r} has sizes that are no sizes")
    if math.prod(shape) * _BYTES[kind] != offsets[1] - offsets[0]:
        raise _damaged(path, f"tensor {name!r} of shape {shape} does not fit its {offsets[1] - offsets[0]:,} bytes")
    return TensorInfo(kind, tuple(shape)), (offsets[0], offsets[1])


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _damaged(path: Path, reason: str) -> ModelFolderError:
    return ModelFolderError(f"{path}: damaged, or not a safetensors file ({reason})")


def _no_number(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number")
