"""What lies in a checkpoint - tensors and facts - on its way to files and back; nothing is ever unpickled."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

TENSORS, FACTS = "tensors.safetensors", "facts.json"

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""What checkpoints hold, by safetensors' names."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file; OSError when the disk does not take it.

    The format has no place for two names of one storage: the second gets a copy.
    """
    own: dict[str, Tensor] = {}
    storages: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        storage = plain.untyped_storage().data_ptr()
        own[name] = plain.clone() if storage in storages else plain
        storages.add(storage)
    try:
        safetensors.torch.save_file(own, path)
    except SafetensorError as error:
        raise _system_error(str(error)) from None
    _check_length(path, sum(tensor.nbytes for tensor in own.values()))


def read_tensors(content: bytearray) -> dict[str, Tensor]:
    """The tensors of a safetensors file, where they lie in its bytes; ValueError when it is none.

    Whoever keeps one keeps all the bytes: what is to stay is copied.
    """
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        header.pop("__metadata__", None)
        return {name: _tensor_at(content, start, entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, RecursionError) as error:
        raise ValueError(f"no safetensors: {error}") from None


def _tensor_at(content: bytearray, start: int, entry: Mapping[str, Any]) -> Tensor:
    dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    count = math.prod(shape)
    if begin < 0 or end - begin != count * dtype.itemsize or start + end > len(content):
        raise ValueError("a tensor that is not as long as it should be")
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(content, dtype=dtype, count=count, offset=start + begin).view(shape)


def write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Write JSON; floats keep every bit."""
    path.write_bytes(json.dumps(_encode_floats(facts), indent=1, allow_nan=False).encode())


def read_facts(content: bytes | bytearray) -> dict[str, Any]:
    """The facts as they were; ValueError when this is not JSON."""
    try:
        facts = json.loads(content, object_hook=_decode_float)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(facts, dict):
        raise ValueError("not a JSON object")
    return facts


def _check_length(path: Path, data_bytes: int) -> None:
    """A file must be as long as its header and data: its sum is taken from the disk, and must not seal a torn one."""
    with open(path, "rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
    if path.stat().st_size != 8 + header_bytes + data_bytes:
        raise OSError(errno.EIO, "only a part was written")


def _system_error(message: str) -> OSError:
    """The system error that safetensors tells in words: `... (os error 28)`."""
    match = re.search(r"os error (\d+)", message)
    return OSError(int(match[1]), os.strerror(int(match[1]))) if match else OSError(errno.EIO, message)


def _encode_floats(value: Any) -> Any:
    """JSON has no infinities and no NaN: they are written as `{"float": "inf"}`."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, Mapping):
        return {key: _encode_floats(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encode_floats(inner) for inner in value]
    return value


def _decode_float(value: dict[str, Any]) -> Any:
    special = value.get("float") if len(value) == 1 else None
    return float(special) if isinstance(special, str) and special in ("inf", "-inf", "nan") else value
